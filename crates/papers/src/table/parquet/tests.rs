use proptest::prelude::*;

use super::*;
use crate::table::samples::{any_table, sample};

fn written(table: &Table) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(table, &mut bytes).unwrap();
    bytes
}

#[test]
fn types_and_descriptions_are_kept() {
    assert_eq!(read(&written(&sample())[..]).unwrap(), sample());
    assert_eq!(written(&sample()), written(&sample()));
}

#[test]
fn many_rows_are_written_in_groups() {
    let rows = ROWS_PER_GROUP + 5;
    let mut table = Table::default();
    let heading = Heading { name: "n".into(), about: "".into() };
    let numbers = (0..rows as i64).map(|row| (row % 3 > 0).then_some(row)).collect();
    table.push(heading, Values::Integers(numbers)).unwrap();
    let bytes = written(&table);
    let file = SerializedFileReader::new(Bytes::from(bytes.clone())).unwrap();
    assert_eq!(file.num_row_groups(), 2);
    assert_eq!(read(&bytes[..]).unwrap(), table);
}

#[test]
fn rejects_other_and_damaged_files() {
    for bytes in [&b""[..], b"nodes,messages\n1,2\n", b"PAR1PAR1PAR1"] {
        let error = read(bytes).unwrap_err().to_string();
        assert!(error.starts_with("it is not a Parquet file, or it is damaged: "), "{error}");
    }
    let whole = written(&sample());
    let error = read(&whole[..whole.len() - 1]).unwrap_err().to_string();
    assert!(error.starts_with("it is not a Parquet file, or it is damaged: "), "{error}");
    let nested = Type::group_type_builder("results")
        .with_fields(vec![Arc::new(Type::primitive_type_builder("a", Physical::INT96).build().unwrap())]);
    let mut bytes = Vec::new();
    let file = SerializedFileWriter::new(&mut bytes, Arc::new(nested.build().unwrap()), Arc::default()).unwrap();
    file.close().unwrap();
    let error = read(&bytes[..]).unwrap_err().to_string();
    assert!(error.starts_with("column `a` is of type INT96; allowed: flat columns of "), "{error}");
}

#[test]
fn a_full_disk_is_an_io_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = write(&sample(), Full).unwrap_err();
    assert!(matches!(&error, ParquetFileError::Io(error) if error.kind() == io::ErrorKind::StorageFull), "{error}");
}

proptest! {
    #[test]
    fn a_written_table_is_read_back(table in any_table()) {
        let bytes = written(&table);
        let again = read(&bytes[..]).unwrap();
        // NaN is not equal to itself, so the debug form is compared.
        prop_assert_eq!(format!("{again:?}"), format!("{table:?}"));
        prop_assert_eq!(written(&again), bytes);
    }

    #[test]
    fn damaged_files_do_not_panic(at in 0..10_000usize, bits in 1..=255u8) {
        let mut bytes = written(&sample());
        let at = at % bytes.len();
        bytes[at] ^= bits;
        let _ = read(&bytes[..]);
    }
}
