//! Finds how many bits of floats tell something about their neighbours, by the mutual information of each bit.
//!
//! The method is that of Klöwer et al., 2021 (BitInformation.jl 0.6.3): the bits of an element and those of its neighbour are compared
//! position by position; what two independent bits share by chance counts as nothing; where 99 % of the information is
//! reached, the mantissa is cut. Infinite and missing elements are left out. Data that were rounded or interpolated before mislead
//! it; both leave traces in the last bits, which are looked for.

/// A type of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FloatBits {
    /// Bytes of an element: 2, 4 or 8.
    pub size: usize,
    /// Bits of the mantissa.
    pub mantissa: u32,
}

impl FloatBits {
    /// The IEEE 754 type of this size in bytes.
    pub fn of_size(size: usize) -> Option<FloatBits> {
        let mantissa = match size {
            2 => 10,
            4 => 23,
            8 => 52,
            _ => return None,
        };
        Some(FloatBits { size, mantissa })
    }

    fn bits(self) -> u32 {
        self.size as u32 * 8
    }

    /// Bits of the sign and of the exponent.
    fn others(self) -> u32 {
        self.bits() - self.mantissa
    }

    /// The bits of a native element, in the low bits.
    pub fn load(self, element: &[u8]) -> u64 {
        match *element {
            [a, b] => u16::from_ne_bytes([a, b]).into(),
            [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
            [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
            _ => 0,
        }
    }

    /// The number that a native element is.
    pub fn to_f64(self, element: &[u8]) -> f64 {
        let bits = self.load(element);
        match self.size {
            4 => f64::from(f32::from_bits(bits as u32)),
            8 => f64::from_bits(bits),
            _ => {
                let (exponent, mantissa) =
                    ((bits >> 10 & 0x1f) as i32, (bits & 0x3ff) as f64 / 1024.0);
                let magnitude = match exponent {
                    0 => mantissa * (-14f64).exp2(),
                    31 if mantissa == 0.0 => f64::INFINITY,
                    31 => f64::NAN,
                    exponent => (1.0 + mantissa) * f64::from(exponent - 15).exp2(),
                };
                if bits >> 15 & 1 == 1 { -magnitude } else { magnitude }
            }
        }
    }

    fn exponent_mask(self) -> u64 {
        ((1 << (self.others() - 1)) - 1) << self.mantissa
    }

    /// Whether it is neither infinite nor NaN.
    pub fn is_finite(self, bits: u64) -> bool {
        bits & self.exponent_mask() != self.exponent_mask()
    }

    /// The same element, its exponent as a sign and a magnitude in place of a biased number: so that exponents around zero differ in
    /// one bit, not in all.
    fn with_signed_exponent(self, bits: u64) -> u64 {
        let mask = self.exponent_mask();
        let bias = (1i64 << (self.others() - 2)) - 1;
        let exponent = ((bits & mask) >> self.mantissa) as i64 - bias;
        let magnitude = exponent.unsigned_abs();
        let sign = if exponent < 0 { 1u64 << (self.bits() - 2) } else { 0 };
        bits & !mask | sign | (magnitude << self.mantissa) & mask
    }
}

/// How often the bits of neighbours were which, for each position from the sign on.
#[derive(Clone, Debug)]
pub(super) struct BitCounts {
    float: FloatBits,
    /// `[bit of the one][bit of its neighbour]`.
    counts: Vec<[[u64; 2]; 2]>,
    pairs: u64,
    /// All bits that are set, and that are not set, in any element.
    ones: u64,
    zeros: u64,
}

impl BitCounts {
    pub fn new(float: FloatBits) -> BitCounts {
        let counts = vec![[[0; 2]; 2]; float.bits() as usize];
        BitCounts { float, counts, pairs: 0, ones: 0, zeros: 0 }
    }

    /// Counts a pair of neighbours.
    pub fn add(&mut self, one: u64, neighbour: u64) {
        self.ones |= one;
        self.zeros |= !one;
        let one = self.float.with_signed_exponent(one);
        let neighbour = self.float.with_signed_exponent(neighbour);
        let width = self.float.bits();
        for (position, count) in self.counts.iter_mut().enumerate() {
            let shift = width - 1 - position as u32;
            count[(one >> shift & 1) as usize][(neighbour >> shift & 1) as usize] += 1;
        }
        self.pairs += 1;
    }

    /// Bits of mutual information of each position; what chance may give is 0, unless `unfiltered`.
    fn information(&self, unfiltered: bool) -> Vec<f64> {
        let chance = if unfiltered { 0.0 } else { free_entropy(self.pairs) };
        self.counts
            .iter()
            .map(|count| {
                let found = mutual_information(count, self.pairs);
                if found <= chance { 0.0 } else { found }
            })
            .collect()
    }

    /// How many bits of the mantissa hold 99 % of the information.
    pub fn keepbits(&self) -> Keepbits {
        let information = self.information(false);
        let total: f64 = information.iter().sum();
        let (others, mantissa) = (self.float.others(), self.float.mantissa);
        let constant = (0..mantissa).take_while(|&bit| {
            let bit = 1u64 << bit;
            self.ones & bit == 0 || self.zeros & bit == 0
        });
        let constant = constant.count() as u32;
        if self.pairs < MIN_PAIRS || total <= 0.0 {
            return Keepbits { bits: mantissa, constant, is_misleading: true };
        }
        let mut sum = 0.0;
        let place = information.iter().position(|share| {
            sum += share;
            sum > SHARE * total
        });
        let place = place.map_or(information.len(), |place| place + 1) as u32;
        let bits = place.saturating_sub(others).clamp(1, mantissa);
        // Information of the last bits is not that of nature.
        let last: f64 = information[information.len() - (mantissa / 4) as usize..].iter().sum();
        let is_misleading = constant >= MIN_CONSTANT_BITS || last > (1.0 - SHARE) * total;
        Keepbits { bits, constant, is_misleading }
    }
}

/// What is to be kept of a mantissa.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Keepbits {
    /// How many bits, from the highest one.
    pub bits: u32,
    /// How many of the last bits are the same in all elements: they were rounded before.
    pub constant: u32,
    /// Whether the data were rounded or interpolated, or are too few: then `bits` says nothing.
    pub is_misleading: bool,
}

/// The share of information that is kept.
const SHARE: f64 = 0.99;

/// With fewer pairs nothing is said.
const MIN_PAIRS: u64 = 1000;

/// So many constant bits at the end are no chance.
const MIN_CONSTANT_BITS: u32 = 4;

/// The quantile of the normal distribution that 99 % of it lie within, on both sides.
const Z_99: f64 = 2.575_829_303_548_901;

fn entropy(p: f64) -> f64 {
    entropy_term(p) + entropy_term(1.0 - p)
}

/// What one outcome contributes to the entropy.
fn entropy_term(p: f64) -> f64 {
    if p <= 0.0 { 0.0 } else { -p * p.log2() }
}

/// The information that `n` pairs of independent bits seem to share by chance, at most.
fn free_entropy(n: u64) -> f64 {
    let p = (0.5 + Z_99 / (2.0 * (n.max(1) as f64).sqrt())).min(1.0);
    1.0 - entropy(p)
}

fn mutual_information(count: &[[u64; 2]; 2], pairs: u64) -> f64 {
    let n = pairs.max(1) as f64;
    let p = |a: usize, b: usize| count[a][b] as f64 / n;
    let mut sum = 0.0;
    for a in 0..2 {
        for b in 0..2 {
            let (one, other) = (p(a, 0) + p(a, 1), p(0, b) + p(1, b));
            if p(a, b) > 0.0 {
                sum += p(a, b) * (p(a, b) / (one * other)).log2();
            }
        }
    }
    sum.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    const F32: FloatBits = FloatBits { size: 4, mantissa: 23 };

    /// A smooth curve with noise of a relative size.
    fn curve(n: usize, noise: f64) -> Vec<f32> {
        let mut random = Random::new(1);
        let mut uniform = || random.below(1 << 53) as f64 / (1u64 << 53) as f64 - 0.5;
        (0..n)
            .map(|i| ((10.0 + (i as f64 / 500.0).sin()) * (1.0 + noise * uniform())) as f32)
            .collect()
    }

    fn counts(values: &[f32]) -> BitCounts {
        let mut counts = BitCounts::new(F32);
        for pair in values.windows(2) {
            counts.add(pair[0].to_bits().into(), pair[1].to_bits().into());
        }
        counts
    }

    #[test]
    fn noise_carries_no_information() {
        let kept = |noise| counts(&curve(100_000, noise)).keepbits();
        let (rough, fine) = (kept(1e-2), kept(1e-4));
        assert!(!rough.is_misleading && !fine.is_misleading, "{rough:?} {fine:?}");
        assert!((4..=8).contains(&rough.bits), "{rough:?}");
        assert!((10..=15).contains(&fine.bits), "{fine:?}");
    }

    #[test]
    fn rounded_data_mislead() {
        let rounded: Vec<f32> =
            curve(100_000, 1e-3).iter().map(|v| (v * 64.0).round() / 64.0).collect();
        let kept = counts(&rounded).keepbits();
        assert!(kept.is_misleading && kept.constant >= 10, "{kept:?}");
        assert!(counts(&[1.0; 5000]).keepbits().is_misleading);
        assert!(counts(&curve(100, 1e-3)).keepbits().is_misleading);
    }

    /// What xbitinfo 0.0.7, which does not leave out chance, has for the same floats (`get_bitinformation`, Python).
    #[test]
    fn information_is_that_of_xbitinfo() {
        let value = |n: u64| (n * n % 1009) as f64 / 1009.0 * 0.5 + n as f64 / 4000.0 - 2.0;
        let values: Vec<f32> = (0..20_000).map(|n| value(n) as f32).collect();
        let theirs = [
            0.724_744_992_5,
            0.619_409_361_9,
            0.0,
            0.0,
            0.0,
            0.000_012_169_6,
            0.039_862_167,
            0.173_103_323_3,
            0.225_642_262_3,
            0.046_823_529_7,
            0.006_236_186_8,
            0.000_005_520_2,
            0.000_014_763_9,
            0.000_041_662_7,
            0.000_004_783_7,
            0.000_030_918_8,
        ];
        let ours = counts(&values).information(true);
        for (bit, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            assert!((ours - theirs).abs() < 2e-10, "bit {bit}: {ours}, {theirs}");
        }
        assert_eq!(counts(&values).keepbits().bits, 1);
    }

    #[test]
    fn exponents_have_a_sign() {
        let signed = |value: f32| F32.with_signed_exponent(value.to_bits().into()) as u32;
        let exponent = |value: f32| signed(value) >> 23 & 0xff;
        assert_eq!((exponent(1.0), exponent(2.0), exponent(0.5)), (0, 1, 0x81));
        // xbitinfo 0.0.7 has these bits for 0.03125.
        assert_eq!(signed(0.03125), 0x4280_0000);
        assert_eq!((exponent(4.0), exponent(0.25), exponent(0.0)), (2, 0x82, 0xff));
        // Sign and mantissa stay.
        assert_eq!(signed(-1.5) & 0x807f_ffff, (-1.5f32).to_bits() & 0x807f_ffff);
        assert_eq!(exponent(f32::MAX), 127);
        assert!(
            !F32.is_finite(f32::NAN.to_bits().into())
                && !F32.is_finite(f32::INFINITY.to_bits().into())
        );
        assert!(F32.is_finite(f32::MAX.to_bits().into()));
    }

    #[test]
    fn elements_of_all_sizes_are_numbers() {
        let half = FloatBits::of_size(2).unwrap();
        for (bits, value) in
            [(0x3c00u16, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_953_125), (1, 2f64.powi(-24))]
        {
            assert_eq!(half.to_f64(&bits.to_ne_bytes()), value);
        }
        assert!(half.to_f64(&0x7e00u16.to_ne_bytes()).is_nan());
        assert_eq!(F32.to_f64(&1.5f32.to_ne_bytes()), 1.5);
        assert_eq!(FloatBits::of_size(8).unwrap().to_f64(&(-0.1f64).to_ne_bytes()), -0.1);
        assert!(FloatBits::of_size(1).is_none());
    }

    #[test]
    fn chance_is_what_the_formula_says() {
        // BitInformation.jl: binom_confidence(1000, 0.99) = 0.540727, and 1 - H of it.
        assert!((0.5 + Z_99 / (2.0 * 1000f64.sqrt()) - 0.540_727).abs() < 1e-6);
        assert!((free_entropy(1000) - (1.0 - entropy(0.540_727_4))).abs() < 1e-7);
        assert_eq!(free_entropy(1), 1.0);
    }
}
