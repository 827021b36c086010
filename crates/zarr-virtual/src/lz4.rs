//! Decodes blocks of LZ4, which several formats frame each in its own way.

/// Appends what a block of LZ4 decodes to, at most `limit` bytes.
///
/// # Errors
/// What is wrong with the block.
pub(crate) fn decode_block(
    mut block: &[u8],
    limit: usize,
    decoded: &mut Vec<u8>,
) -> Result<(), String> {
    let start = decoded.len();
    let cut_off = "an LZ4 block is truncated";
    let too_long = || format!("an LZ4 block decodes to more than {limit} bytes");
    while let Some((&token, rest)) = block.split_first() {
        block = rest;
        let literals = length(token >> 4, &mut block).ok_or(cut_off)?;
        let (copied, rest) = block.split_at_checked(literals).ok_or(cut_off)?;
        if literals > limit - (decoded.len() - start) {
            return Err(too_long());
        }
        decoded.extend_from_slice(copied);
        block = rest;
        if block.is_empty() {
            // The last sequence has literals alone.
            return Ok(());
        }
        let (distance, rest) = block.split_first_chunk().ok_or(cut_off)?;
        block = rest;
        let distance = usize::from(u16::from_le_bytes(*distance));
        let matched = length(token & 15, &mut block).ok_or(cut_off)?.saturating_add(4);
        if distance == 0 || distance > decoded.len() - start {
            return Err(format!("an LZ4 block refers {distance} bytes back"));
        }
        if matched > limit - (decoded.len() - start) {
            return Err(too_long());
        }
        let from = decoded.len() - distance;
        for at in from..from + matched {
            // What is copied may have been written by this copy.
            decoded.push(decoded[at]);
        }
    }
    Ok(())
}

/// A length of which the token has the first part.
fn length(first: u8, block: &mut &[u8]) -> Option<usize> {
    let mut length = usize::from(first);
    if first == 15 {
        loop {
            let (&more, rest) = block.split_first()?;
            *block = rest;
            length = length.checked_add(usize::from(more))?;
            if more != 255 {
                break;
            }
        }
    }
    Some(length)
}
