//! Where a member lies inside a Python wheel, which is a zip archive. Pure.
//!
//! Only what is needed to read one member without the rest. Everything is checked against the bytes that are there, as
//! an archive may come from anywhere.

/// Bytes at an archive's end that hold its end record, whatever comment follows it, and usually the whole directory.
pub(super) const TAIL: u64 = 66_000;
/// Bytes of the fixed part of a member's own header.
pub(super) const LOCAL_HEADER: u64 = 30;
/// Bytes of a directory that is read.
const DIRECTORY_CAP: u64 = 8 * 1024 * 1024;
const END_RECORD: usize = 22;
const ENTRY: usize = 46;

/// How a member's bytes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Stored,
    Deflated,
}

/// Where the archive's directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) start: u64,
    pub(super) size: u64,
}

/// Where a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) header: u64,
    pub(super) packed: u64,
    pub(super) packing: Packing,
}

/// Finds the directory by an archive's last bytes. `total` is the archive's size.
pub(super) fn directory(tail: &[u8], total: u64) -> Option<Directory> {
    let last = tail.len().checked_sub(END_RECORD)?;
    let end = (0..=last).rev().find(|at| tail[*at..].starts_with(b"PK\x05\x06"))?;
    let directory = Directory { size: u64::from(u32_at(tail, end + 12)?), start: u64::from(u32_at(tail, end + 16)?) };
    let fits = directory.size <= DIRECTORY_CAP && directory.start.checked_add(directory.size)? <= total;
    fits.then_some(directory)
}

/// Finds a member by its path in the directory's bytes.
pub(super) fn member(directory: &[u8], path: &str) -> Option<Member> {
    let mut at = 0;
    loop {
        let entry = directory.get(at..)?;
        if !entry.starts_with(b"PK\x01\x02") {
            return None;
        }
        let lengths = [u16_at(entry, 28)?, u16_at(entry, 30)?, u16_at(entry, 32)?].map(usize::from);
        if entry.get(ENTRY..ENTRY + lengths[0])? == path.as_bytes() {
            let packing = match u16_at(entry, 10)? {
                0 => Packing::Stored,
                8 => Packing::Deflated,
                _ => return None,
            };
            let packed = u64::from(u32_at(entry, 20)?);
            return Some(Member { packed, packing, header: u64::from(u32_at(entry, 42)?) });
        }
        at += ENTRY + lengths.iter().sum::<usize>();
    }
}

/// Where a member's bytes start, by the fixed part of its own header.
pub(super) fn content_start(member: Member, header: &[u8]) -> Option<u64> {
    if !header.starts_with(b"PK\x03\x04") {
        return None;
    }
    let after = u64::from(u16_at(header, 26)?) + u64::from(u16_at(header, 28)?);
    Some(member.header + LOCAL_HEADER + after)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    /// An archive of these members, deflated.
    pub(in crate::cli::models) fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
        let (mut bytes, mut directory) = (Vec::new(), Vec::new());
        for (name, content) in members {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(content).unwrap();
            let packed = encoder.finish().unwrap();
            let start = bytes.len() as u32;
            let mut sizes = Vec::new();
            sizes.extend([0; 4]);
            sizes.extend((packed.len() as u32).to_le_bytes());
            sizes.extend((content.len() as u32).to_le_bytes());
            sizes.extend((name.len() as u16).to_le_bytes());
            let fixed = [20_u16, 0, 8, 0, 0].map(u16::to_le_bytes).concat();
            bytes
                .extend([b"PK\x03\x04".as_slice(), &fixed, &sizes, &[3, 0], name.as_bytes(), b"ext", &packed].concat());
            let place = [[0; 14].as_slice(), &start.to_le_bytes()].concat();
            directory.extend([b"PK\x01\x02\x14\0".as_slice(), &fixed, &sizes, &place[2..], name.as_bytes()].concat());
        }
        let count = (members.len() as u16).to_le_bytes();
        let (size, start) = ((directory.len() as u32).to_le_bytes(), (bytes.len() as u32).to_le_bytes());
        bytes.extend(directory);
        bytes.extend([b"PK\x05\x06\0\0\0\0".as_slice(), &count, &count, &size, &start, &[0, 0]].concat());
        bytes
    }

    #[test]
    fn a_member_is_found_by_its_path() {
        let bytes = archive(&[("a/one.txt", b"first"), ("b/two.bin", &[7; 1000])]);
        let found = directory(&bytes, bytes.len() as u64).unwrap();
        let listed = &bytes[found.start as usize..(found.start + found.size) as usize];
        let second = member(listed, "b/two.bin").unwrap();
        assert_eq!(second.packing, Packing::Deflated);
        let start = content_start(second, &bytes[second.header as usize..]).unwrap() as usize;
        let mut content = Vec::new();
        let packed = &bytes[start..start + second.packed as usize];
        std::io::Read::read_to_end(&mut flate2::read::DeflateDecoder::new(packed), &mut content).unwrap();
        assert_eq!(content, [7; 1000]);
        assert_eq!(member(listed, "two.bin"), None);
    }

    #[test]
    fn what_is_no_archive_is_none() {
        let bytes = archive(&[("a", b"x")]);
        for wrong in [&b""[..], b"PK", &bytes[..bytes.len() - 1], &[b'P'; 300]] {
            assert_eq!(directory(wrong, wrong.len() as u64), None);
        }
        assert_eq!(directory(&bytes, 10), None, "a directory outside of the archive");
        assert_eq!(member(b"PK\x01\x02", "a"), None);
        let first = Member { header: 0, packed: 1, packing: Packing::Stored };
        assert_eq!(content_start(first, b"PK\x03\x04"), None);
    }
}
