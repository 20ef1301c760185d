//! Seals of relayed messages, made and checked with real keys and certificates.

use super::*;
use crate::identity::SealError;
use crate::wire::{Message, Relay, Seal};

/// A message of member 1 to member 2.
fn relay() -> Relay {
    let bytes = Message::ReadinessRequest { office: "leader".into() }.encode();
    let (incarnation, to_incarnation) = (11, 22);
    Relay { from: Id(1), incarnation, to: Id(2), to_incarnation, number: 5, is_bulk: false, bytes, seal: None }
}

/// Three members, of which the second one checks what the third one passes on.
struct Checker {
    world: World,
    now: Timestamp,
}

impl Checker {
    fn new() -> Self {
        Checker { world: World::new(3, Limits::default()), now: Timestamp(1) }
    }

    /// A message that a member seals, whatever it says of its sender.
    fn sealed_by(&self, member: u64, mut relay: Relay) -> Relay {
        self.world.node(member).transport.seal(&mut relay);
        relay
    }

    /// Checks a message that a member passed on, now.
    fn check(&mut self, via: u64, relay: &Relay) -> Result<(), SealError> {
        let message = Message::decode(&Message::Relay(relay.clone()).encode()).expect("a valid message");
        let Message::Relay(relay) = message else { panic!("a relayed message: {message:?}") };
        self.world.node_mut(2).transport.check_seal(Id(via), &relay, self.now)
    }

    /// The same a while after the last check, when nobody is suspected any more.
    fn check_later(&mut self, relay: &Relay) -> Result<(), SealError> {
        self.now = self.now + Duration::from_secs(2);
        self.check(3, relay)
    }
}

/// A message of member 1 that somebody seals with this identity.
fn sealed_with(identity: &Identity) -> Relay {
    let seal = identity.seal(&relay().signed_bytes(CLUSTER));
    Relay { seal, ..relay() }
}

#[test]
fn a_seal_proves_who_sent_every_part_of_a_message() {
    let mut checker = Checker::new();
    let sealed = checker.sealed_by(1, relay());
    assert_eq!(checker.check_later(&sealed), Ok(()));
    let changes: [fn(&mut Relay); 7] = [
        |relay| relay.incarnation += 1,
        |relay| relay.to = Id(3),
        |relay| relay.to_incarnation += 1,
        |relay| relay.number += 1,
        |relay| relay.is_bulk = true,
        |relay| relay.bytes.push(0),
        |relay| relay.seal.iter_mut().for_each(|seal| seal.signature[9] ^= 1),
    ];
    for change in changes {
        let mut changed = sealed.clone();
        change(&mut changed);
        assert_eq!(checker.check_later(&changed), Err(SealError::Signature), "{changed:?}");
    }
    assert_eq!(checker.check_later(&sealed), Ok(()));
    let other_cluster = checker.world.node(1).transport.identity.seal(&relay().signed_bytes("village"));
    let other_cluster = Relay { seal: other_cluster, ..relay() };
    assert_eq!(checker.check_later(&other_cluster), Err(SealError::Signature));
    assert_eq!(checker.check_later(&relay()), Err(SealError::Missing));
}

#[test]
fn nobody_seals_for_another_member() {
    let mut checker = Checker::new();
    let forged = checker.sealed_by(3, relay());
    assert_eq!(checker.check_later(&forged), Err(SealError::OtherMember));
    // Also not after a message of the right sender.
    let sealed = checker.sealed_by(1, relay());
    assert_eq!(checker.check_later(&sealed), Ok(()));
    assert_eq!(checker.check_later(&forged), Err(SealError::OtherMember));
    let mixed = sealed.seal.clone().zip(forged.seal.clone());
    let mixed = mixed.map(|(right, wrong)| Seal { signature: wrong.signature, ..right });
    assert_eq!(checker.check_later(&Relay { seal: mixed, ..relay() }), Err(SealError::Signature));
    let unknown = checker.sealed_by(3, Relay { from: Id(9), ..relay() });
    assert_eq!(checker.check_later(&unknown), Err(SealError::UnknownSender));
    let none = Seal { scheme: 0x0403, signature: Vec::new(), chain: Vec::new() };
    assert_eq!(checker.check_later(&Relay { seal: Some(none), ..relay() }), Err(SealError::Certificate));
}

#[test]
fn the_certificate_of_a_seal_is_of_the_clusters_authority_and_valid_now() {
    let mut checker = Checker::new();
    let (authority, key) = Authority::create(CLUSTER, time::Duration::DAY).expect("create an authority");
    let own = authority.issue(CLUSTER, &member(1), time::Duration::DAY).expect("issue a certificate");
    let other = Identity::from_pem(&key.certificate, &own.certificate, &own.key, CLUSTER).expect("a valid identity");
    assert_eq!(checker.check_later(&sealed_with(&other)), Err(SealError::Certificate));
    let expired = identity_for(&member(1), -time::Duration::HOUR);
    assert_eq!(checker.check_later(&sealed_with(&expired)), Err(SealError::Certificate));
    // A renewed certificate, and one for another name.
    let renewed = identity_for(&member(1), time::Duration::HOUR);
    assert_eq!(checker.check_later(&sealed_with(&renewed)), Ok(()));
    let renamed = identity_for(&Member { name: "m2".to_string(), ..member(1) }, time::Duration::HOUR);
    assert_eq!(checker.check_later(&sealed_with(&renamed)), Err(SealError::OtherMember));
}

#[test]
fn after_a_wrong_seal_nothing_is_checked_on_the_same_way_for_a_while() {
    let mut checker = Checker::new();
    let (sealed, forged) = (checker.sealed_by(1, relay()), checker.sealed_by(3, relay()));
    assert_eq!(checker.check(3, &forged), Err(SealError::OtherMember));
    assert_eq!(checker.check(3, &forged), Err(SealError::Suspected));
    assert_eq!(checker.check(3, &sealed), Err(SealError::Suspected));
    assert_eq!(checker.check(4, &sealed), Ok(()), "another member passes it on");
    assert_eq!(checker.check_later(&sealed), Ok(()));
}

#[test]
fn a_seal_is_bounded() {
    let checker = Checker::new();
    let sealed = checker.sealed_by(1, relay());
    let seal = sealed.seal.clone().expect("it is sealed");
    let size = Message::Relay(sealed).encode().len() - Message::Relay(relay()).encode().len();
    assert!(size < 800, "a seal takes {size} bytes");
    let longer = [
        Seal { signature: vec![0; 1_025], ..seal.clone() },
        Seal { chain: vec![vec![0]; 5], ..seal.clone() },
        Seal { chain: vec![vec![0; 16 << 10], vec![0]], ..seal },
    ];
    for seal in longer {
        let relay = Relay { seal: Some(seal), ..relay() };
        assert!(Message::decode(&Message::Relay(relay).encode()).is_err());
    }
}
