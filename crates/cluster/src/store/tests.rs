//! What a store keeps, and what it refuses.

use super::*;

/// An entry with some bytes.
fn entry(index: u64, term: u64, data: &[u8]) -> Entry {
    let mut entry = Entry::new();
    entry.index = index;
    entry.term = term;
    entry.data = data.to_vec().into();
    entry
}

fn who() -> Who {
    Who { cluster: "atlas".to_string(), id: Id(3) }
}

#[test]
fn what_was_written_is_there_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("of/its/own");
    let (mut store, recovered) = Store::open(&path, &who()).expect("a new store");
    assert!(recovered.was_new);
    let entries = vec![entry(1, 1, b""), entry(2, 1, &[7; 1000])];
    let hard_state = HardState { term: 4, vote: 2, commit: 1, ..Default::default() };
    let write = Write {
        number: 1,
        entries: entries.clone(),
        hard_state: Some(hard_state.clone()),
        sync: true,
        ..Default::default()
    };
    store.write(&write).expect("a write");
    assert!(matches!(Store::open(&path, &who()), Err(StoreError::Locked { .. })));
    drop(store);
    for _ in 0..2 {
        let (_, recovered) = Store::open(&path, &who()).expect("an old store");
        assert!(!recovered.was_new);
        assert_eq!(recovered.mirror.state().entries, entries);
        assert_eq!(recovered.mirror.state().hard_state, hard_state);
    }
}
