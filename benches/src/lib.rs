//! Data for benchmarks: a smooth field with noise, which compresses as measurements do.

pub mod scale;

/// `count` values of a smooth field with a little noise, the same each time.
pub fn field(count: usize) -> Vec<u16> {
    let mut noise = 0x2545_f491u32;
    (0..count)
        .map(|i| {
            noise ^= noise << 13;
            noise ^= noise >> 17;
            noise ^= noise << 5;
            let wave = ((i % 512) as f32 / 81.0).sin() + ((i / 512 % 512) as f32 / 130.0).cos();
            (20_000.0 + 6_000.0 * wave) as u16 + (noise & 15) as u16
        })
        .collect()
}
