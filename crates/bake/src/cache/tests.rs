//! Caches that are shared, truncated, damaged, too large, foreign, and of another version.

use super::*;

/// A directory for a test, removed when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("millstream-{}-{name}", std::process::id()));
        // It exists if a run with the same number was killed.
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    fn packs(&self) -> Vec<PathBuf> {
        pack::paths(&self.0).expect("it can be listed")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn key(n: u64) -> Key {
    Key::of(&n.to_le_bytes())
}

const MIB: u64 = 1 << 20;

#[test]
fn entries_are_found_again_by_this_and_other_processes() {
    let folder = Folder::new("again");
    let mut one = Cache::open(&folder.0, MIB);
    let mut other = Cache::open(&folder.0, MIB);
    assert!(one.put(key(1), b"first") && one.put(key(2), b""));
    assert_eq!(one.get(key(1)).as_deref(), Some(&b"first"[..]));
    assert_eq!(other.get(key(1)), None);
    other.refresh();
    assert_eq!(other.get(key(1)).as_deref(), Some(&b"first"[..]));
    assert_eq!(other.get(key(2)).as_deref(), Some(&b""[..]));
    assert!(other.put(key(3), b"third"));
    drop((one, other));
    let mut later = Cache::open(&folder.0, MIB);
    assert_eq!(later.get(key(3)).as_deref(), Some(&b"third"[..]));
    assert_eq!(later.get(key(4)), None);
    assert_eq!(later.take_problems(), []);
    let status = Cache::status(&folder.0).expect("it is a cache");
    assert_eq!((status.entries, status.packs), (3, 2));
}

#[test]
fn a_truncated_entry_is_told_once_and_harms_no_other() {
    let folder = Folder::new("cut");
    let mut cache = Cache::open(&folder.0, MIB);
    assert!(cache.put(key(1), b"whole") && cache.put(key(2), &[7; 100]));
    drop(cache);
    let pack = &folder.packs()[0];
    let whole = std::fs::read(pack).expect("it can be read");
    for n in 0..whole.len() {
        std::fs::write(pack, &whole[..n]).expect("it can be written");
        let mut cache = Cache::open(&folder.0, MIB);
        let is_there = n >= whole.len() - 100 - 48;
        assert_eq!(cache.get(key(1)).is_some(), is_there, "{n} bytes");
        assert_eq!(cache.get(key(2)), None, "{n} bytes");
        let is_cut = n != 0 && n != whole.len() - 100 - 48;
        let told = is_cut.then(|| CacheProblem::Cut(pack.clone()));
        assert_eq!(cache.take_problems(), Vec::from_iter(told), "{n} bytes");
        assert!(cache.put(key(2), b"again"));
        drop(cache);
        assert_eq!(Cache::open(&folder.0, MIB).take_problems(), [], "{n} bytes");
        std::fs::remove_file(&folder.packs()[1]).expect("it is the new one");
    }
}

#[test]
fn changed_bytes_are_detected() {
    let folder = Folder::new("changed");
    let mut cache = Cache::open(&folder.0, MIB);
    assert!(cache.put(key(1), &[1; 50]) && cache.put(key(2), &[2; 50]));
    drop(cache);
    let pack = folder.packs()[0].clone();
    let whole = std::fs::read(&pack).expect("it can be read");
    for at in 0..whole.len() {
        let mut wrong = whole.clone();
        wrong[at] ^= 0x10;
        std::fs::write(&pack, wrong).expect("it can be written");
        let mut cache = Cache::open(&folder.0, MIB);
        let first = cache.get(key(1));
        let second = cache.get(key(2));
        assert!(first.is_none() || first == Some(vec![1; 50]), "byte {at}");
        assert!(second.is_none() || second == Some(vec![2; 50]), "byte {at}");
        assert!(first.is_none() || second.is_none(), "byte {at}");
        assert_eq!(cache.take_problems().len(), 1, "byte {at}");
    }
}

#[test]
fn the_least_recently_used_packs_are_removed_first() {
    let folder = Folder::new("limit");
    let limit = 16 * (1 << 16);
    let entry = vec![0; 60 << 10];
    let mut cache = Cache::open(&folder.0, limit);
    for n in 0..16 {
        assert!(cache.put(key(n), &entry));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    drop(cache);
    // The first is used again, and stays.
    let mut cache = Cache::open(&folder.0, limit);
    assert!(cache.get(key(0)).is_some());
    for n in 16..24 {
        assert!(cache.put(key(n), &entry));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(cache.get(key(0)).is_some());
    assert!(cache.get(key(2)).is_none());
    assert!(cache.get(key(23)).is_some());
    drop(cache);
    let status = Cache::status(&folder.0).expect("it is a cache");
    assert!(status.bytes <= limit, "{status:?}");
}

#[test]
fn a_cache_never_exceeds_its_limit() {
    for (limit, entry) in [(300_000, 6_000), (300_000, 149_000), (5_000, 100)] {
        let folder = Folder::new("small");
        let mut cache = Cache::open(&folder.0, limit);
        for n in 0..60 {
            assert!(cache.put(key(n), &vec![0; entry]));
            let status = Cache::status(&folder.0).expect("it is a cache");
            assert!(status.bytes <= limit, "{n} of {entry} bytes: {status:?}");
        }
        assert!(cache.get(key(59)).is_some());
    }
}

#[test]
fn a_foreign_directory_is_left_alone() {
    let folder = Folder::new("foreign");
    std::fs::create_dir_all(&folder.0).expect("it can be made");
    std::fs::write(folder.0.join("photo.png"), "precious").expect("it can be written");
    let mut cache = Cache::open(&folder.0, MIB);
    assert!(!cache.put(key(1), b"x"));
    assert_eq!(cache.take_problems(), [CacheProblem::Foreign(folder.0.clone())]);
    assert!(Cache::clean(&folder.0).is_err());
    assert!(folder.0.join("photo.png").exists());
}

#[test]
fn another_version_is_not_used_and_can_be_emptied() {
    let folder = Folder::new("version");
    let mut cache = Cache::open(&folder.0, MIB);
    assert!(cache.put(key(1), b"x"));
    drop(cache);
    std::fs::write(folder.0.join(TAG), "Millstream cache, format 999\n").expect("writes");
    let mut cache = Cache::open(&folder.0, MIB);
    assert!(!cache.put(key(1), b"x") && cache.get(key(1)).is_none());
    assert_eq!(cache.take_problems(), [CacheProblem::Version(folder.0.clone(), "999".into())]);
    assert_eq!(Cache::clean(&folder.0).map(|(_, stay)| stay), Ok(0));
    assert!(!folder.0.exists());
}

#[test]
fn packs_in_use_are_not_removed() {
    let folder = Folder::new("in-use");
    let mut cache = Cache::open(&folder.0, MIB);
    assert!(cache.put(key(1), b"x"));
    assert_eq!(Cache::clean(&folder.0), Ok((0, 1)));
    assert_eq!(Cache::status(&folder.0).map(|status| status.in_use), Ok(1));
    drop(cache);
    assert_eq!(Cache::clean(&folder.0).map(|(bytes, stay)| (bytes > 0, stay)), Ok((true, 0)));
}

#[test]
fn a_result_that_is_too_large_is_told_once() {
    let store = Folder::new("small-store");
    let mut cache = Cache::open(&store.0, 100);
    assert!(!cache.put(key(1), &[0; 51]));
    assert!(!cache.put(key(2), &[0; 60]));
    assert!(cache.put(key(3), &[0; 50]));
    let told: Vec<String> = cache.take_problems().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("a result of 51 bytes does not fit in the cache"), "{told:?}");
}

#[test]
fn damage_is_told_once_for_each_file() {
    let folder = Folder::new("told-once");
    let mut cache = Cache::open(&folder.0, MIB);
    assert!((0..4).all(|n| cache.put(key(n), &[n as u8; 50])));
    drop(cache);
    let pack = folder.packs()[0].clone();
    let whole = std::fs::read(&pack).expect("it can be read");
    // The bytes of all entries, but no header.
    let mut wrong = whole.clone();
    let size = whole.len() / 4;
    (0..4).for_each(|n| wrong[n * size + size - 1] ^= 1);
    std::fs::write(&pack, wrong).expect("it can be written");
    let mut cache = Cache::open(&folder.0, MIB);
    assert!((0..4).all(|n| cache.get(key(n)).is_none()));
    assert_eq!(cache.take_problems(), [CacheProblem::Wrong(pack.clone())]);
    assert!((0..4).all(|n| cache.put(key(n), &[n as u8; 50])));
    drop(cache);
    let mut cache = Cache::open(&folder.0, MIB);
    assert!((0..4).all(|n| cache.get(key(n)).is_some()));
    assert_eq!(cache.take_problems(), []);
    drop(cache);
    // The header of the third entry.
    let mut wrong = whole;
    wrong[2 * size] ^= 1;
    std::fs::write(&pack, wrong).expect("it can be written");
    let mut cache = Cache::open(&folder.0, MIB);
    assert_eq!(cache.take_problems(), [CacheProblem::Damaged(pack, 2 * size as u64)]);
    assert_eq!(Cache::open(&folder.0, MIB).take_problems(), []);
}

#[test]
fn files_from_elsewhere_and_what_links_lead_to_stay_as_they_are() {
    let folder = Folder::new("foreign");
    drop(Cache::open(&folder.0, MIB));
    let notes = folder.0.join("notes.pack");
    std::fs::write(&notes, [b'x'; 100]).expect("it can be written");
    assert_eq!(
        Cache::open(&folder.0, MIB).take_problems(),
        [CacheProblem::Damaged(notes.clone(), 0)]
    );
    assert_eq!(std::fs::read(&notes).expect("it is there"), [b'x'; 100]);
    #[cfg(unix)]
    {
        let outside = folder.0.with_extension("outside");
        std::fs::rename(&notes, &outside).expect("it can be moved");
        std::os::unix::fs::symlink(&outside, folder.0.join("1-2-3.pack")).expect("it can be made");
        assert_eq!(Cache::open(&folder.0, MIB).take_problems(), []);
        assert_eq!(std::fs::read(&outside).expect("it is there"), [b'x'; 100]);
        std::fs::remove_file(&outside).expect("it can be removed");
    }
}

#[test]
fn a_file_that_cannot_be_removed_is_told() {
    let folder = Folder::new("unremovable");
    let mut cache = Cache::open(&folder.0, MIB);
    assert!(cache.put(key(1), b"x"));
    drop(cache);
    // A directory in place of a pack cannot be removed as a file, whoever runs the test.
    let wrong = folder.0.join("0-wrong.pack");
    std::fs::create_dir(&wrong).expect("it can be made");
    let told = Cache::clean(&folder.0).expect_err("a file remains");
    assert!(matches!(&told, CacheProblem::Unremovable(path, _) if *path == wrong), "{told:?}");
    assert_eq!(folder.packs(), [wrong], "the others are gone");
}
