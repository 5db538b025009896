//! Vectors as they are kept and compared: one byte a number, with a scale for each vector.
//!
//! Kept layout, little-endian: the format, the row of each vector as u64, the numbers of all vectors, each vector's scale
//! as f32, the store's fingerprint. The rows are kept because some may be deleted before or after they were embedded. Comparing is exact over all vectors: a scan of a million takes a few hundredths of a second, and
//! nothing has to be built or kept in balance.

use simsimd::SpatialSimilarity;
use storage::{sealed, unsealed};

use crate::segment::Damaged;

/// The version of what is kept.
const FORMAT: u8 = 2;

/// Vectors of a chunk.
const CHUNK: usize = 4_096;

/// Vectors of documents that follow each other.
#[derive(Default)]
pub(crate) struct VectorTable {
    dimensions: usize,
    /// In chunks, because one long list would be held twice whenever it grows.
    chunks: Vec<Vec<i8>>,
    scales: Vec<f32>,
}

/// A vector to compare with.
pub(crate) struct QueryVector {
    numbers: Vec<i8>,
    scale: f32,
}

impl QueryVector {
    pub(crate) fn new(vector: &[f32]) -> Self {
        let mut numbers = Vec::with_capacity(vector.len());
        let scale = quantise(vector, &mut numbers);
        Self { numbers, scale }
    }
}

impl VectorTable {
    pub(crate) fn new(dimensions: usize) -> Self {
        Self { dimensions, chunks: Vec::new(), scales: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.scales.len()
    }

    /// Bytes that it takes in memory.
    pub(crate) fn size(&self) -> usize {
        self.chunks.iter().map(Vec::capacity).sum::<usize>() + self.scales.capacity() * size_of::<f32>()
    }

    /// Adds a vector of length 1; one of another length or dimension counts as nothing.
    pub(crate) fn push(&mut self, vector: &[f32]) {
        let dimensions = self.dimensions;
        let chunk = self.chunk();
        let scale = if vector.len() == dimensions {
            quantise(vector, chunk)
        } else {
            chunk.resize(chunk.len() + dimensions, 0);
            0.0
        };
        self.scales.push(scale);
    }

    /// The chunk that the next vector goes into.
    fn chunk(&mut self) -> &mut Vec<i8> {
        let full = self.chunks.last().is_none_or(|chunk| chunk.len() >= CHUNK * self.dimensions);
        if full {
            // The first grows as it needs to; most tables are small.
            let room = if self.chunks.is_empty() { 0 } else { CHUNK * self.dimensions };
            self.chunks.push(Vec::with_capacity(room));
        }
        let last = self.chunks.len() - 1;
        &mut self.chunks[last]
    }

    /// Adds the vectors of these rows from what [`Self::keep`] wrote, which holds so many. A row that it does not have
    /// was deleted when it was made: it gets a vector that is near to nothing. What it has of other rows is left out.
    pub(crate) fn extend(&mut self, bytes: &[u8], count: usize, rows: &[u64]) -> Result<(), Damaged> {
        let (format, rest) = unsealed(bytes).and_then(<[u8]>::split_first).ok_or(Damaged)?;
        let length = self.dimensions.checked_add(12).and_then(|each| count.checked_mul(each)).ok_or(Damaged)?;
        if *format != FORMAT || rest.len() != length {
            return Err(Damaged);
        }
        let (kept, rest) = rest.split_at(count * 8);
        let (numbers, scales) = rest.split_at(count * self.dimensions);
        let mut vectors = kept.as_chunks::<8>().0.iter().zip(scales.as_chunks::<4>().0).enumerate().peekable();
        for row in rows {
            while vectors.next_if(|(_, (kept, _))| u64::from_le_bytes(**kept) < *row).is_some() {}
            match vectors.next_if(|(_, (kept, _))| u64::from_le_bytes(**kept) == *row) {
                Some((place, (_, scale))) => {
                    let numbers = &numbers[place * self.dimensions..][..self.dimensions];
                    self.chunk().extend(numbers.iter().map(|byte| byte.cast_signed()));
                    self.scales.push(f32::from_le_bytes(*scale));
                }
                None => self.push(&[]),
            }
        }
        Ok(())
    }

    /// All vectors as bytes to keep; `rows` are the numbers of their rows.
    pub(crate) fn keep(&self, rows: &[u64]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len() * (self.dimensions + 12) + 9);
        out.push(FORMAT);
        rows.iter().for_each(|row| out.extend(row.to_le_bytes()));
        out.extend(self.chunks.iter().flatten().map(|number| number.cast_unsigned()));
        self.scales.iter().for_each(|scale| out.extend(scale.to_le_bytes()));
        sealed(out)
    }

    /// The cosine of each vector with `query`, into `out`, which has room for all of them.
    pub(crate) fn cosines(&self, query: &QueryVector, out: &mut [f32]) {
        if query.numbers.len() != self.dimensions || self.dimensions == 0 {
            out.fill(0.0);
            return;
        }
        let rows = self.chunks.iter().flat_map(|chunk| chunk.chunks_exact(self.dimensions)).zip(&self.scales);
        for (cosine, (row, scale)) in out.iter_mut().zip(rows) {
            let dot = i8::dot(row, &query.numbers).unwrap_or_default();
            *cosine = dot as f32 * scale * query.scale;
        }
    }
}

/// Adds the numbers as bytes and gives what they are to be multiplied with.
fn quantise(vector: &[f32], out: &mut Vec<i8>) -> f32 {
    let largest = vector.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
    if !largest.is_finite() || largest == 0.0 {
        out.resize(out.len() + vector.len(), 0);
        return 0.0;
    }
    let factor = 127.0 / largest;
    out.extend(vector.iter().map(|number| (number * factor).round() as i8));
    largest / 127.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(values: [f32; 3]) -> Vec<f32> {
        let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        values.iter().map(|value| value / length).collect()
    }

    fn table() -> VectorTable {
        let mut table = VectorTable::new(3);
        for values in [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, -1.0, 2.0]] {
            table.push(&unit(values));
        }
        table
    }

    fn cosines(table: &VectorTable, query: [f32; 3]) -> Vec<f32> {
        let mut out = vec![9.0; table.len()];
        table.cosines(&QueryVector::new(&unit(query)), &mut out);
        out.iter().map(|cosine| (cosine * 10.0).round() / 10.0).collect()
    }

    #[test]
    fn cosines_are_those_of_the_vectors() {
        assert_eq!(cosines(&table(), [1.0, 0.0, 0.0]), [1.0, 0.7, 0.0]);
        assert_eq!(cosines(&table(), [0.0, 1.0, 0.0]), [0.0, 0.7, -0.4]);
    }

    #[test]
    fn what_is_kept_reads_back() {
        let mut again = VectorTable::new(3);
        again.extend(&table().keep(&[2, 5, 9]), 3, &[2, 5, 9]).unwrap();
        assert_eq!(cosines(&again, [1.0, 1.0, 0.0]), [0.7, 1.0, -0.3]);
    }

    #[test]
    fn vectors_belong_to_rows() {
        let kept = table().keep(&[2, 5, 9]);
        for (rows, expected) in [
            // Rows that were deleted after they were embedded, and rows that were deleted before.
            (&[5][..], &[1.0][..]),
            (&[2, 9], &[0.7, -0.3]),
            (&[1, 2, 5, 6, 9, 10], &[0.0, 0.7, 1.0, 0.0, -0.3, 0.0]),
            (&[], &[]),
        ] {
            let mut again = VectorTable::new(3);
            again.extend(&kept, 3, rows).unwrap();
            assert_eq!(cosines(&again, [1.0, 1.0, 0.0]), expected, "{rows:?}");
        }
    }

    #[test]
    fn damaged_bytes_are_noticed() {
        let rows = [2, 5, 9];
        let mut kept = table().keep(&rows);
        assert_eq!(VectorTable::new(3).extend(&kept, 2, &rows), Err(Damaged));
        assert_eq!(VectorTable::new(4).extend(&kept, 3, &rows), Err(Damaged));
        kept[4] ^= 1;
        assert_eq!(VectorTable::new(3).extend(&kept, 3, &rows), Err(Damaged));
        assert_eq!(VectorTable::new(3).extend(&[], 0, &rows), Err(Damaged));
    }

    #[test]
    fn vectors_of_another_model_count_as_nothing() {
        let mut table = table();
        table.push(&[1.0; 5]);
        assert_eq!(cosines(&table, [1.0, 0.0, 0.0]), [1.0, 0.7, 0.0, 0.0]);
    }
}
