//! Writes elements as images, as they are: a TIFF of any numbers and of many pages, a PNG of those that it has words for.

use std::io::{self, Write};

use zarr::data_type::{CoreType, DataType};

#[cfg(feature = "plot")]
use crate::png_image::Png;
use crate::tiff::Tiff;

/// What one pixel is, and how many pixels there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub kind: CoreType,
    /// 1 for grey, 3 and 4 for colours.
    pub samples: u16,
    pub width: u32,
    pub height: u32,
    pub pages: u64,
}

/// Elements become an image as they come.
pub(crate) enum Image {
    #[cfg(feature = "plot")]
    Png(Box<Png>),
    Tiff(Tiff),
}

impl Layout {
    /// The image that elements of a shape are: of two axes lines of pixels, of three the last of which has 3 or 4 small unsigned
    /// integers colours, else as many pages as there are planes. Axes of length 1 do not count.
    fn new(data_type: &DataType, shape: &[u64]) -> Result<Layout, String> {
        let DataType::Core(kind) = data_type else {
            return Err(format!("an image needs numbers, not elements of type `{data_type}`"));
        };
        let is_color = matches!(kind, CoreType::Uint8 | CoreType::Uint16)
            && shape.len() > 2
            && matches!(shape.last(), Some(3 | 4));
        let (axes, samples) = match shape {
            [axes @ .., last] if is_color => (axes, *last as u16),
            axes => (axes, 1),
        };
        let mut axes = axes.to_vec();
        while let Some(at) = axes.iter().position(|&len| len == 1).filter(|_| axes.len() > 2) {
            axes.remove(at);
        }
        let [pages @ .., height, width] = &axes[..] else {
            return Err("an image has two axes or more; --format npy has any".into());
        };
        let pages = zarr::region::element_count(pages);
        let (Some(width), Some(height), Some(pages)) = (side(*width), side(*height), pages) else {
            return Err(format!("{} pixels are too many for an image", by(shape)));
        };
        if width == 0 || height == 0 || pages == 0 {
            return Err(format!(
                "the selection of {} elements is empty; an image needs at least one",
                by(shape)
            ));
        }
        Ok(Layout { kind: *kind, samples, width, height, pages })
    }

    /// Bits of one sample: of bools 1.
    pub fn bits(&self) -> u16 {
        match self.kind {
            CoreType::Bool => 1,
            kind => 8 * crate::element::size(&kind.into()) as u16,
        }
    }

    /// Bytes of one page.
    pub fn page(&self) -> u64 {
        let line = u64::from(self.width) * u64::from(self.samples) * u64::from(self.bits());
        line.div_ceil(8) * u64::from(self.height)
    }
}

/// The length of a side, if an image can have it.
fn side(len: u64) -> Option<u32> {
    u32::try_from(len).ok().filter(|&len| len <= i32::MAX as u32)
}

/// `3 × 4`.
fn by(shape: &[u64]) -> String {
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" × ")
}

impl Image {
    /// A TIFF of elements of a shape, or why there is none.
    pub fn tiff(data_type: &DataType, shape: &[u64]) -> Result<Image, String> {
        Ok(Image::Tiff(Tiff::new(Layout::new(data_type, shape)?)))
    }

    /// A PNG of elements of a shape, or why there is none.
    #[cfg(feature = "plot")]
    pub fn png(data_type: &DataType, shape: &[u64]) -> Result<Image, String> {
        let drawn = "`zarr plot --bare -o x.png` draws any numbers in colour";
        let layout = Layout::new(data_type, shape)?;
        if !matches!(layout.kind, CoreType::Bool | CoreType::Uint8 | CoreType::Uint16) {
            return Err(format!(
                "PNG supports bool, uint8 and uint16, not {data_type}; {drawn}, and --format tiff keeps numbers as they are"
            ));
        }
        if layout.pages > 1 {
            return Err(format!(
                "a PNG contains one image, but {} elements make {}; select one with --region, or use --format tiff",
                by(shape),
                layout.pages
            ));
        }
        let png = Png::new(layout).map_err(|why| why.to_string())?;
        Ok(Image::Png(Box::new(png)))
    }

    /// Writes the little-endian elements that come next.
    pub fn push(&mut self, elements: &[u8], out: &mut dyn Write) -> io::Result<()> {
        match self {
            #[cfg(feature = "plot")]
            Image::Png(png) => png.push(elements, out),
            Image::Tiff(tiff) => tiff.push(elements, out),
        }
    }

    /// Writes what is behind the last element.
    pub fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            #[cfg(feature = "plot")]
            Image::Png(png) => png.finish(out),
            Image::Tiff(tiff) => tiff.finish(out),
        }
    }
}

/// Puts bools of one byte into bits, the first in the highest; each line begins a byte.
#[derive(Debug)]
pub(crate) struct Bits {
    width: u32,
    at: u32,
    byte: u8,
}

impl Bits {
    pub fn new(layout: &Layout) -> Bits {
        Bits { width: layout.width * u32::from(layout.samples), at: 0, byte: 0 }
    }

    pub fn pack(&mut self, bools: &[u8]) -> Vec<u8> {
        let mut packed = Vec::with_capacity(bools.len() / 8 + 2);
        for &bool in bools {
            self.byte |= u8::from(bool != 0) << (7 - self.at % 8);
            self.at += 1;
            if self.at == self.width || self.at.is_multiple_of(8) {
                packed.push(std::mem::take(&mut self.byte));
            }
            self.at %= self.width;
        }
        packed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: CoreType, shape: &[u64]) -> Option<(u16, u32, u32, u64)> {
        let layout = Layout::new(&kind.into(), shape).ok()?;
        Some((layout.samples, layout.width, layout.height, layout.pages))
    }

    #[test]
    fn axes_are_lines_colours_and_pages() {
        assert_eq!(of(CoreType::Uint8, &[5, 4]), Some((1, 4, 5, 1)));
        assert_eq!(of(CoreType::Uint8, &[5, 4, 3]), Some((3, 4, 5, 1)));
        assert_eq!(of(CoreType::Float32, &[5, 4, 3]), Some((1, 3, 4, 5)));
        assert_eq!(of(CoreType::Uint16, &[1, 5, 1, 4]), Some((4, 1, 5, 1)));
        assert_eq!(of(CoreType::Int16, &[1, 5, 1, 4]), Some((1, 4, 5, 1)));
        assert_eq!(of(CoreType::Int16, &[2, 3, 5, 4]), Some((1, 4, 5, 6)));
        assert_eq!(of(CoreType::Int16, &[1, 1]), Some((1, 1, 1, 1)));
        for shape in
            [&[][..], &[3], &[0, 4], &[4, 0], &[0, 4, 4], &[1 << 40, 2], &[1 << 40, 1 << 40, 2, 2]]
        {
            assert_eq!(of(CoreType::Uint8, shape), None, "{shape:?}");
        }
    }

    #[test]
    fn bools_are_bits_and_lines_begin_bytes() {
        let layout = Layout::new(&CoreType::Bool.into(), &[2, 10]).unwrap();
        assert_eq!((layout.bits(), layout.page()), (1, 4));
        let mut bits = Bits::new(&layout);
        let bools = [1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0];
        let mut packed = bits.pack(&bools[..3]);
        packed.extend(bits.pack(&bools[3..]));
        assert_eq!(packed, [0x81, 0x40, 0xff, 0x00]);
    }
}
