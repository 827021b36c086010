//! Writes a PNG, grey or of colours, of 1, 8 or 16 bits, as its pixels come.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use png::{BitDepth, ColorType, Encoder, EncodingError, StreamWriter};

use crate::image::{Bits, Layout};

/// A PNG that is being written.
pub(crate) struct Png {
    layout: Layout,
    bits: Bits,
    writer: StreamWriter<'static, Pipe>,
    pipe: Pipe,
}

/// What was encoded, and is still to be written.
#[derive(Clone, Default)]
struct Pipe(Rc<RefCell<Vec<u8>>>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Png {
    pub fn new(layout: Layout) -> Result<Png, EncodingError> {
        let pipe = Pipe::default();
        let mut encoder = Encoder::new(pipe.clone(), layout.width, layout.height);
        encoder.set_color(match layout.samples {
            3 => ColorType::Rgb,
            4 => ColorType::Rgba,
            _ => ColorType::Grayscale,
        });
        encoder.set_depth(match layout.bits() {
            1 => BitDepth::One,
            16 => BitDepth::Sixteen,
            _ => BitDepth::Eight,
        });
        let writer = encoder.write_header()?.into_stream_writer()?;
        Ok(Png { layout, bits: Bits::new(&layout), writer, pipe })
    }

    /// Writes the pixels that come next; a PNG has the higher byte first.
    pub fn push(&mut self, elements: &[u8], out: &mut dyn Write) -> io::Result<()> {
        match self.layout.bits() {
            1 => self.writer.write_all(&self.bits.pack(elements))?,
            16 => {
                let swapped: Vec<u8> =
                    elements.chunks_exact(2).flat_map(|pair| [pair[1], pair[0]]).collect();
                self.writer.write_all(&swapped)?;
            }
            _ => self.writer.write_all(elements)?,
        }
        out.write_all(&self.pipe.0.take())
    }

    pub fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        self.writer.finish().map_err(io::Error::other)?;
        out.write_all(&self.pipe.0.take())
    }
}
