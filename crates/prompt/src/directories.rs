//! Renders an agent's folders and open files into the section `<directories>`.
//!
//! The view of a file is made by the caller: nothing here opens, numbers or cuts one.

use std::fmt::Write as _;

use crate::memory::push_metadata;

/// All folders that an agent has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directories {
    /// Files open now.
    pub files_open: u32,
    /// Files that may be open at once.
    pub max_files_open: u32,
    pub directories: Vec<Directory>,
}

/// One folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    pub name: String,
    pub description: Option<String>,
    /// How the agent should use what is in it.
    pub instructions: Option<String>,
    pub files: Vec<FileView>,
}

/// One file, with the part of it that is in view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileView {
    /// Folder and file name, as the file tools take it.
    pub name: String,
    pub open: bool,
    pub description: Option<String>,
    pub read_only: bool,
    pub chars_current: usize,
    pub chars_limit: u32,
    /// What is in view; not shown while the file is closed.
    pub value: String,
}

/// The section `<directories>`; None where the agent has no folder.
pub(crate) fn render_directories(directories: &Directories) -> Option<String> {
    if directories.directories.is_empty() {
        return None;
    }
    let Directories { files_open, max_files_open, directories } = directories;
    let mut text = String::from("<directories>\n");
    // Writing to a String can't fail.
    let _ = writeln!(
        text,
        "<file_limits>\n- current_files_open={files_open}\n- max_files_open={max_files_open}\n</file_limits>"
    );
    for directory in directories {
        render_directory(&mut text, directory);
    }
    text.push_str("</directories>");
    Some(text)
}

fn render_directory(text: &mut String, directory: &Directory) {
    let _ = writeln!(text, "<directory name=\"{}\">", directory.name);
    if let Some(description) = filled(directory.description.as_deref()) {
        let _ = writeln!(text, "<description>{description}</description>");
    }
    if let Some(instructions) = filled(directory.instructions.as_deref()) {
        let _ = writeln!(text, "<instructions>{instructions}</instructions>");
    }
    for file in &directory.files {
        render_file(text, file);
    }
    text.push_str("</directory>\n");
}

fn render_file(text: &mut String, file: &FileView) {
    let status = if file.open { "open" } else { "closed" };
    let _ = writeln!(text, "<file status=\"{status}\" name=\"{}\">", file.name);
    if let Some(description) = filled(file.description.as_deref()) {
        let _ = writeln!(text, "<description>\n{description}\n</description>");
    }
    push_metadata(text, file.read_only, file.chars_current, file.chars_limit);
    let value = if file.open { file.value.as_str() } else { "" };
    let _ = writeln!(text, "<value>\n{value}\n</value>\n</file>");
}

fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}
