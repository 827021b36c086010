//! Finds the end of a deflated stream (RFC 1951), without its elements.

/// Bytes of a deflated stream at the beginning of `bytes`; `None` if there is none, or it ends behind them.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let mut bits = Bits { bytes, at: 0 };
    let mut made = 0usize;
    loop {
        let is_last = bits.take(1)? == 1;
        match bits.take(2)? {
            0 => {
                let at = bits.at.div_ceil(8);
                let [a, b, c, d] = *bytes.get(at..)?.first_chunk()?;
                let size = u16::from_le_bytes([a, b]);
                if size != !u16::from_le_bytes([c, d]) {
                    return None;
                }
                bits.at = 8 * (at + 4 + usize::from(size));
                made += usize::from(size);
            }
            1 => {
                let lengths = [[8; 144].as_slice(), &[9; 112], &[7; 24], &[8; 8]].concat();
                block(&mut bits, &Code::of(&lengths)?, &Code::of(&[5; 30])?, &mut made)?;
            }
            2 => {
                let (symbols, distances) = codes(&mut bits)?;
                block(&mut bits, &symbols, &distances, &mut made)?;
            }
            _ => return None,
        }
        if is_last {
            return Some(bits.at.div_ceil(8)).filter(|&end| end <= bytes.len());
        }
    }
}

/// Bits, the lowest of each byte first.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn take(&mut self, count: u32) -> Option<usize> {
        let mut value = 0;
        for bit in 0..count {
            let byte = *self.bytes.get(self.at / 8)?;
            value |= usize::from(byte >> (self.at % 8) & 1) << bit;
            self.at += 1;
        }
        Some(value)
    }
}

/// A code of Huffman: how many symbols have each number of bits, and the symbols in the order of their codes.
struct Code {
    counts: [usize; 16],
    symbols: Vec<usize>,
}

impl Code {
    /// The code in which symbols have these numbers of bits; `None` if there are more than fit.
    fn of(lengths: &[u8]) -> Option<Code> {
        let mut counts = [0; 16];
        lengths.iter().for_each(|&length| counts[usize::from(length)] += 1);
        counts[0] = 0;
        counts.iter().skip(1).try_fold(1usize, |left, count| (left * 2).checked_sub(*count))?;
        let mut symbols: Vec<usize> = (0..lengths.len()).filter(|&n| lengths[n] > 0).collect();
        symbols.sort_by_key(|&symbol| lengths[symbol]);
        Some(Code { counts, symbols })
    }

    fn next(&self, bits: &mut Bits<'_>) -> Option<usize> {
        let (mut code, mut first, mut index) = (0, 0, 0);
        for count in &self.counts[1..] {
            code |= bits.take(1)?;
            if code < first + count {
                return self.symbols.get(index + code - first).copied();
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}

/// The codes of a block that brings its own.
fn codes(bits: &mut Bits<'_>) -> Option<(Code, Code)> {
    const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
    let (symbols, distances) = (bits.take(5)? + 257, bits.take(5)? + 1);
    let count = bits.take(4)? + 4;
    let mut of_lengths = [0; 19];
    for &at in &ORDER[..count] {
        of_lengths[at] = bits.take(3)? as u8;
    }
    let code = Code::of(&of_lengths)?;
    let mut lengths: Vec<u8> = Vec::new();
    while lengths.len() < symbols + distances {
        let (value, times) = match code.next(bits)? {
            16 => (*lengths.last()?, 3 + bits.take(2)?),
            17 => (0, 3 + bits.take(3)?),
            18 => (0, 11 + bits.take(7)?),
            value => (value as u8, 1),
        };
        lengths.resize(lengths.len() + times, value);
    }
    let is_whole = lengths.len() == symbols + distances && lengths[256] > 0;
    is_whole.then_some(())?;
    Some((Code::of(&lengths[..symbols])?, Code::of(&lengths[symbols..])?))
}

/// Reads a block. `made` counts the bytes that it stands for.
fn block(bits: &mut Bits<'_>, symbols: &Code, distances: &Code, made: &mut usize) -> Option<()> {
    loop {
        let symbol = symbols.next(bits)?;
        let length = match symbol {
            0..256 => 1,
            256 => return Some(()),
            257..265 => symbol - 254,
            265..285 => {
                let more = (symbol - 261) / 4;
                (((symbol - 261) % 4 + 4) << more) + 3 + bits.take(more as u32)?
            }
            285 => 258,
            _ => return None,
        };
        if symbol > 256 {
            let distance = match distances.next(bits)? {
                code @ 0..4 => code + 1,
                code @ 4..30 => {
                    let more = code / 2 - 1;
                    ((code % 2 + 2) << more) + 1 + bits.take(more as u32)?
                }
                _ => return None,
            };
            // What it repeats is there.
            (distance <= *made).then_some(())?;
        }
        *made = made.checked_add(length)?;
    }
}
