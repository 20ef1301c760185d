//! The log of a sweep under way: what is in it survives the end of the process.
//!
//! A sign, then frames: length, checksum, contents. The first frame says which experiment it is; each other one holds
//! some runs. A frame that was cut off, or whose checksum is wrong, and all behind it, is dropped when the sweep goes
//! on.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::measure::Measured;
use super::{SweepError, VERSION};
use crate::experiment::Experiment;

/// The first bytes of every log. The digit is the version of its form.
const SIGN: &[u8; 16] = b"hustings log  1\n";

/// The longest frame that is read.
const MAX_BYTES: u32 = 1 << 28;

/// How long written frames may wait for the disk. The end of the process loses none of them; that of the machine does.
const PATIENCE: Duration = Duration::from_secs(1);

/// Which experiment a log is of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Header {
    name: String,
    version: String,
    seed: u64,
    repetitions: u32,
    points: u64,
    fingerprint: u64,
}

/// Runs that follow each other.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Frame {
    /// The number of the first one.
    pub(crate) first: u64,
    pub(crate) runs: Vec<Measured>,
}

/// A log that is being written.
#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    path: PathBuf,
    synced: Instant,
}

impl Header {
    fn of(experiment: &Experiment) -> Self {
        Header {
            name: experiment.name.clone(),
            version: VERSION.to_string(),
            seed: experiment.seed,
            repetitions: experiment.repetitions,
            points: experiment.points().len() as u64,
            fingerprint: experiment.fingerprint(),
        }
    }

    /// In what it differs from what is wanted.
    fn differs(&self, wanted: &Header) -> Option<String> {
        let differs = |what: &str, found: String, wanted: String| Some(format!("its {what} is {found}, not {wanted}"));
        match self {
            _ if self == wanted => None,
            _ if self.name != wanted.name => differs("name", self.name.clone(), wanted.name.clone()),
            _ if self.version != wanted.version => {
                differs("program's version", self.version.clone(), wanted.version.clone())
            }
            _ if self.seed != wanted.seed => differs("seed", self.seed.to_string(), wanted.seed.to_string()),
            _ if self.repetitions != wanted.repetitions => {
                differs("number of repetitions", self.repetitions.to_string(), wanted.repetitions.to_string())
            }
            _ if self.points != wanted.points => {
                differs("number of points", self.points.to_string(), wanted.points.to_string())
            }
            _ => Some("its settings are others".to_string()),
        }
    }
}

impl Log {
    /// A new log; one that was there is gone.
    pub(crate) fn create(path: &Path, experiment: &Experiment) -> Result<Log, SweepError> {
        let wrong = |error| SweepError::file(path, error);
        // Not emptied before it is ours.
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(wrong)?;
        lock(&file, path)?;
        Log::begin(file, path, &opening(experiment).map_err(wrong)?)
    }

    /// Puts the opening into a file that is ours, and nothing else.
    fn begin(mut file: File, path: &Path, opening: &[u8]) -> Result<Log, SweepError> {
        let emptied = file.set_len(0).and_then(|()| file.rewind());
        let written = emptied.and_then(|()| file.write_all(opening)).and_then(|()| file.sync_data());
        written.map_err(|error| SweepError::file(path, error))?;
        Ok(Log { file, path: path.to_path_buf(), synced: Instant::now() })
    }

    /// The log of a sweep that stopped, its frames, and how many bytes at its end were of no use.
    pub(crate) fn resume(path: &Path, experiment: &Experiment) -> Result<(Log, Vec<Frame>, u64), SweepError> {
        let wrong = |error| SweepError::file(path, error);
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(wrong)?;
        lock(&file, path)?;
        let length = file.metadata().map_err(wrong)?.len();
        // Whoever was stopped while the opening was written has run nothing.
        let opening = opening(experiment).map_err(wrong)?;
        if length < opening.len() as u64 {
            let mut begun = Vec::new();
            file.read_to_end(&mut begun).and_then(|_| file.rewind()).map_err(wrong)?;
            if opening.starts_with(&begun) {
                return Ok((Log::begin(file, path, &opening)?, Vec::new(), 0));
            }
        }
        let mut reader = FrameReader { source: BufReader::new(&file), good: 0 };
        let foreign = |reason: String| SweepError::Foreign { path: path.to_path_buf(), reason };
        let Some(header) = reader.header().map_err(wrong)? else {
            return Err(foreign("it is no log of a sweep".to_string()));
        };
        if let Some(reason) = header.differs(&Header::of(experiment)) {
            return Err(foreign(reason));
        }
        let mut frames = Vec::new();
        while let Some(frame) = reader.frame::<Frame>().map_err(wrong)? {
            let end = frame.first.checked_add(frame.runs.len() as u64);
            if end.is_none_or(|end| end > experiment.runs()) {
                return Err(foreign("it holds runs that the experiment does not have".to_string()));
            }
            frames.push(frame);
        }
        let good = reader.good;
        drop(reader);
        file.set_len(good).and_then(|()| file.seek(SeekFrom::Start(good))).map_err(wrong)?;
        let log = Log { file, path: path.to_path_buf(), synced: Instant::now() };
        Ok((log, frames, length.saturating_sub(good)))
    }

    /// Adds frames, all in one write.
    pub(crate) fn append(&mut self, frames: &[Frame]) -> Result<(), SweepError> {
        let mut bytes = Vec::new();
        let encoded = frames.iter().try_for_each(|frame| enframe(&mut bytes, frame));
        encoded.and_then(|()| self.file.write_all(&bytes)).map_err(|error| SweepError::file(&self.path, error))?;
        if self.synced.elapsed() >= PATIENCE { self.sync() } else { Ok(()) }
    }

    /// Waits until everything is on the disk.
    pub(crate) fn sync(&mut self) -> Result<(), SweepError> {
        self.synced = Instant::now();
        self.file.sync_data().map_err(|error| SweepError::file(&self.path, error))
    }
}

/// Two processes must not write one log.
fn lock(file: &File, path: &Path) -> Result<(), SweepError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(SweepError::Busy { path: path.to_path_buf() }),
        // Some file systems know no locks; that is no reason not to work there.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(SweepError::file(path, error)),
    }
}

/// What stands at the beginning of an experiment's log.
fn opening(experiment: &Experiment) -> io::Result<Vec<u8>> {
    let mut bytes = SIGN.to_vec();
    enframe(&mut bytes, &Header::of(experiment))?;
    Ok(bytes)
}

fn enframe(bytes: &mut Vec<u8>, contents: &impl Serialize) -> io::Result<()> {
    let contents = postcard::to_stdvec(contents).map_err(io::Error::other)?;
    let length = u32::try_from(contents.len()).map_err(io::Error::other)?;
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&contents).to_le_bytes());
    bytes.extend_from_slice(&contents);
    Ok(())
}

struct FrameReader<R> {
    source: R,
    /// The end of the last good frame.
    good: u64,
}

impl<R: Read> FrameReader<R> {
    fn header(&mut self) -> io::Result<Option<Header>> {
        match self.bytes(SIGN.len())? {
            Some(sign) if sign == SIGN => {
                self.good = SIGN.len() as u64;
                self.frame()
            }
            _ => Ok(None),
        }
    }

    /// The next frame; `None` at the end, or where the rest is of no use.
    fn frame<T: for<'de> Deserialize<'de>>(&mut self) -> io::Result<Option<T>> {
        let Some(head) = self.bytes(8)? else { return Ok(None) };
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (length, checksum) = (word(0), word(4));
        if length > MAX_BYTES {
            return Ok(None);
        }
        let Some(contents) = self.bytes(length as usize)? else { return Ok(None) };
        if crc32fast::hash(&contents) != checksum {
            return Ok(None);
        }
        let read = postcard::from_bytes(&contents).ok();
        if read.is_some() {
            self.good += 8 + u64::from(length);
        }
        Ok(read)
    }

    /// So many bytes; `None` if there are fewer.
    fn bytes(&mut self, count: usize) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        self.source.by_ref().take(count as u64).read_to_end(&mut bytes)?;
        Ok((bytes.len() == count).then_some(bytes))
    }
}
