//! The state of the disk before, after and without the end of a write.

use std::path::PathBuf;

use super::*;
use millstream_base::Type;

/// A separate directory, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("millstream-io-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("makes a directory");
        Self(path)
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("lists the directory");
        let name = |entry: io::Result<std::fs::DirEntry>| {
            entry.expect("an entry").file_name().to_string_lossy().into_owned()
        };
        entries.map(name).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("removes the directory");
    }
}

fn specs() -> Vec<ColumnSpec> {
    vec![ColumnSpec::new("a", Type::I32)]
}

#[test]
fn nothing_has_the_final_name_before_the_end_and_dropped_writers_leave_nothing() {
    let scratch = Scratch::new("finish");
    let path = scratch.0.join("a.csv");
    let create = || TableWriter::create(&path, None, WriteOptions::default(), specs());
    let mut writer = create().expect("starts");
    writer.write_rows(&[Column::from_vec(vec![1_i32, 2])]).expect("writes");
    assert!(!path.exists());
    drop(writer);
    assert_eq!(scratch.files(), Vec::<String>::new());

    let mut writer = create().expect("starts");
    writer.write_rows(&[Column::from_vec(vec![1_i32, 2])]).expect("writes");
    writer.write_rows(&[Column::from_vec(vec![3_i32])]).expect("writes");
    writer.finish().expect("finishes");
    assert_eq!(scratch.files(), ["a.csv"]);
    assert_eq!(std::fs::read_to_string(&path).expect("reads"), "a\n1\n2\n3\n");
}

#[test]
fn a_failed_write_leaves_the_old_file() {
    let scratch = Scratch::new("old");
    let path = scratch.0.join("a.npy");
    std::fs::write(&path, "old").expect("writes");
    let columns = vec![ColumnSpec::new("a", Type::STRING)];
    let error = TableWriter::create(&path, None, WriteOptions::default(), columns);
    assert!(matches!(error, Err(IoError::CannotWrite { .. })));
    let mut writer =
        TableWriter::create(&path, None, WriteOptions::default(), specs()).expect("starts");
    let wrong = writer.write_rows(&[Column::from_vec(vec![1.0_f32])]);
    assert!(matches!(wrong, Err(IoError::WrongBlock { .. })));
    drop(writer);
    assert_eq!(std::fs::read_to_string(&path).expect("reads"), "old");
    assert_eq!(scratch.files(), ["a.npy"]);
}

#[test]
fn a_read_only_file_is_not_replaced() {
    let scratch = Scratch::new("read-only");
    let path = scratch.0.join("a.csv");
    std::fs::write(&path, "old").expect("writes");
    let mut permissions = std::fs::metadata(&path).expect("exists").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).expect("sets");
    let writer = TableWriter::create(&path, None, WriteOptions::default(), specs());
    assert!(matches!(writer, Err(IoError::Write { .. })));
    assert_eq!(std::fs::read_to_string(&path).expect("reads"), "old");
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_devices_written_to() {
    let scratch = Scratch::new("links");
    let (path, link) = (scratch.0.join("a.csv"), scratch.0.join("b.csv"));
    std::fs::write(&path, "old").expect("writes");
    std::os::unix::fs::symlink(&path, &link).expect("links");
    let write = |path: &Path, format| {
        let mut writer = TableWriter::create(path, format, WriteOptions::default(), specs())?;
        writer.write_rows(&[Column::from_vec(vec![1_i32])])?;
        writer.finish()
    };
    write(&link, None).expect("writes");
    assert_eq!(std::fs::read_to_string(&path).expect("reads"), "a\n1\n");
    assert!(std::fs::symlink_metadata(&link).expect("exists").is_symlink());
    write(Path::new("/dev/null"), Some(Format::CSV)).expect("writes");
}

#[test]
fn a_directory_or_a_missing_one_is_a_named_error() {
    let scratch = Scratch::new("directory");
    for path in [scratch.0.clone(), scratch.0.join("no/a.csv")] {
        let writer =
            TableWriter::create(&path, Some(Format::CSV), WriteOptions::default(), specs());
        assert!(matches!(writer, Err(IoError::Write { .. })));
    }
}

#[test]
fn streams_take_the_formats_without_a_count_at_the_start() {
    let stream = |format| {
        let out = Box::new(io::sink());
        TableWriter::to_stream("stdout", out, format, WriteOptions::default(), specs())
    };
    assert!(stream(Format::CSV).is_ok());
    assert!(stream(Format::JSON).is_ok());
    assert!(matches!(stream(Format::NPY), Err(IoError::CannotWriteTable { .. })));
    assert!(matches!(stream(Format::PLY), Err(IoError::CannotWriteTable { .. })));
}

#[test]
fn only_json_parquet_and_arrow_hold_lists() {
    let lists = Type::I32.list().expect("one level");
    let has_lists = [Format::JSON, Format::JSON_LINES, Format::PARQUET, Format::ARROW];
    for format in Format::ALL.into_iter().filter(|format| format.is_built()) {
        let columns = vec![ColumnSpec::new("position", lists)];
        let writer = TableWriter::in_memory(format, WriteOptions::default(), columns);
        assert_eq!(writer.is_ok(), has_lists.contains(&format), "{format}");
    }
}

#[cfg(unix)]
#[test]
fn a_dangling_link_leads_to_the_created_file() {
    let scratch = Scratch::new("dangling");
    let link = scratch.0.join("link.csv");
    std::os::unix::fs::symlink("there.csv", &link).expect("links");
    let mut writer =
        TableWriter::create(&link, None, WriteOptions::default(), specs()).expect("starts");
    writer.write_rows(&[Column::from_vec(vec![1_i32])]).expect("writes");
    writer.finish().expect("finishes");
    let text = std::fs::read_to_string(scratch.0.join("there.csv")).expect("is made");
    assert_eq!(text, "a\n1\n");
    assert!(link.is_symlink());
    let cycle = scratch.0.join("cycle.csv");
    std::os::unix::fs::symlink("cycle.csv", &cycle).expect("links");
    assert!(TableWriter::create(&cycle, None, WriteOptions::default(), specs()).is_err());
}
