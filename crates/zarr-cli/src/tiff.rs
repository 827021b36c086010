//! Writes a TIFF 6.0 without compression, or a BigTIFF where 4 GiB are not enough, as its pixels come.
//!
//! Each page is a directory of tags and, behind it, one strip of pixels, so that nothing has to be known of the pages that follow.

use std::io::{self, Write};

use zarr::data_type::CoreType;

use crate::image::{Bits, Layout};

/// A TIFF that is being written.
#[derive(Debug)]
pub(crate) struct Tiff {
    layout: Layout,
    bits: Bits,
    is_big: bool,
    /// Bytes that are written, and pages that are begun.
    at: u64,
    begun: u64,
    /// Bytes of the page that are not written yet.
    rest: u64,
}

/// Types of what tags hold.
const SHORT: u16 = 3;
const LONG: u16 = 4;
const RATIONAL: u16 = 5;
const LONG8: u16 = 16;

/// The bytes of a page before its pixels are fewer.
const DIRECTORY: u64 = 512;

impl Tiff {
    pub fn new(layout: Layout) -> Tiff {
        let all = layout.page().saturating_add(DIRECTORY).saturating_mul(layout.pages);
        let is_big = all > u64::from(u32::MAX) - DIRECTORY;
        Tiff { layout, bits: Bits::new(&layout), is_big, at: 0, begun: 0, rest: 0 }
    }

    /// Writes the pixels that come next, and before those of a page what describes it.
    pub fn push(&mut self, elements: &[u8], out: &mut dyn Write) -> io::Result<()> {
        let packed;
        let mut pixels = elements;
        if self.layout.kind == CoreType::Bool {
            packed = self.bits.pack(elements);
            pixels = &packed;
        }
        while !pixels.is_empty() {
            if self.rest == 0 {
                let directory = self.directory();
                out.write_all(&directory)?;
                (self.begun, self.rest) = (self.begun + 1, self.layout.page());
                self.at += directory.len() as u64 + self.rest + self.padding();
            }
            let len = usize::try_from(self.rest).unwrap_or(usize::MAX).min(pixels.len());
            out.write_all(&pixels[..len])?;
            pixels = &pixels[len..];
            self.rest -= len as u64;
            if self.rest == 0 {
                out.write_all(&[0; 8][..self.padding() as usize])?;
            }
        }
        Ok(())
    }

    /// Nothing is behind the last page.
    pub fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        out.flush()
    }

    /// Bytes behind the pixels of a page, so that the next directory begins at a multiple of 8.
    fn padding(&self) -> u64 {
        self.layout.page().next_multiple_of(8) - self.layout.page()
    }

    /// What is before the pixels of the page that begins at `self.at`.
    fn directory(&self) -> Vec<u8> {
        let layout = &self.layout;
        let mut bytes = Vec::new();
        if self.at == 0 {
            bytes.extend(b"II");
            if self.is_big {
                bytes.extend([43, 0, 8, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0]);
            } else {
                bytes.extend([42, 0, 8, 0, 0, 0]);
            }
        }
        let begin = self.at + bytes.len() as u64;
        let samples = usize::from(layout.samples);
        let format = match layout.kind {
            CoreType::Int8 | CoreType::Int16 | CoreType::Int32 | CoreType::Int64 => 2,
            CoreType::Float16 | CoreType::Float32 | CoreType::Float64 => 3,
            CoreType::Complex64 | CoreType::Complex128 => 6,
            _ => 1,
        };
        let one = [long(1), long(1)].concat();
        let is_several = layout.pages > 1;
        let photometric = if samples > 2 { 2 } else { 1 };
        // Filled in below, when the place of the pixels is known.
        let place = vec![0; if self.is_big { 8 } else { 4 }];
        let size = place.len();
        let offset_type = if self.is_big { LONG8 } else { LONG };
        let mut tags: Vec<(u16, u16, Vec<u8>)> = Vec::new();
        if is_several {
            tags.push((254, LONG, long(2)));
        }
        tags.extend([
            (256, LONG, long(layout.width)),
            (257, LONG, long(layout.height)),
            (258, SHORT, shorts(layout.bits(), samples)),
            (259, SHORT, short(1)),
            (262, SHORT, short(photometric)),
            (273, offset_type, place),
            (277, SHORT, short(layout.samples)),
            (278, LONG, long(layout.height)),
            (279, offset_type, layout.page().to_le_bytes()[..size].to_vec()),
            (282, RATIONAL, one.clone()),
            (283, RATIONAL, one),
            (284, SHORT, short(1)),
            (296, SHORT, short(1)),
        ]);
        if let (true, Ok(page), Ok(pages)) =
            (is_several, u16::try_from(self.begun), u16::try_from(layout.pages))
        {
            tags.push((297, SHORT, [short(page), short(pages)].concat()));
        }
        if samples == 4 {
            tags.push((338, SHORT, short(2)));
        }
        tags.push((339, SHORT, shorts(format, samples)));
        // Number of tags, tags, and the place of the next directory; then values that are too long for tags.
        let (head, tag) = if self.is_big { (8, 20) } else { (2, 12) };
        let values = begin + (head + tag * tags.len() + size) as u64;
        let long_values: usize =
            tags.iter().filter(|(.., v)| v.len() > size).map(|(.., v)| v.len()).sum();
        let pixels = (values + long_values as u64).next_multiple_of(8);
        let is_last = self.begun + 1 == layout.pages;
        let next = if is_last { 0 } else { pixels + layout.page() + self.padding() };
        bytes.extend(&(tags.len() as u64).to_le_bytes()[..head]);
        let mut behind: Vec<u8> = Vec::new();
        for (id, kind, mut value) in tags {
            let each = match kind {
                SHORT => 2,
                LONG => 4,
                _ => 8,
            };
            let count = (value.len() / each) as u64;
            bytes.extend(id.to_le_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend(&count.to_le_bytes()[..size]);
            if id == 273 {
                value = pixels.to_le_bytes()[..size].to_vec();
            }
            if value.len() > size {
                bytes.extend(&(values + behind.len() as u64).to_le_bytes()[..size]);
                behind.extend(value);
            } else {
                value.resize(size, 0);
                bytes.extend(value);
            }
        }
        bytes.extend(&next.to_le_bytes()[..size]);
        bytes.extend(behind);
        bytes.resize((pixels - self.at) as usize, 0);
        bytes
    }
}

/// A number of two bytes.
fn short(value: u16) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

/// The same number of two bytes for each sample.
fn shorts(value: u16, samples: usize) -> Vec<u8> {
    value.to_le_bytes().repeat(samples)
}

/// A number of four bytes.
fn long(value: u32) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}
