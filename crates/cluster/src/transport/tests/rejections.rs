//! Peers with a wrong identity are rejected and counted.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::raw::{Raw, hello};
use super::*;

/// A single node whose member 2 does not exist.
pub(super) fn single_node(limits: Limits) -> World {
    let mut world = World::new(1, limits);
    let now = world.clock.now();
    let nowhere = Member { address: "127.0.0.1:1".to_owned(), ..member(2) };
    let node = world.node_mut(1);
    node.transport.set_members(&[member(1), nowhere], now, &mut Vec::new());
    world
}

/// Asserts that the node rejects the connection for this reason only.
fn assert_rejected(world: &mut World, mut raw: Raw, reason: CloseReason) {
    world.until("the connection is rejected", |world| {
        raw.pump();
        raw.ended && world.node(1).counters().rejected(reason) == 1
    });
    assert!(world.node(1).events.is_empty(), "{:?}", world.node(1).events);
    assert_eq!(world.node(1).counters().established, 0);
}

/// An identity issued by another authority.
fn foreign(member: &Member) -> Identity {
    let (other, theirs) = Authority::create(CLUSTER, time::Duration::DAY).expect("an authority can be made");
    let own = other.issue(CLUSTER, member, time::Duration::DAY).expect("it can sign");
    // It trusts our authority, so that it is not the one that rejects.
    let believed = format!("{}{}", authority().1.certificate, theirs.certificate);
    Identity::from_pem(&believed, &own.certificate, &own.key, CLUSTER).expect("what was issued is in order")
}

#[test]
fn rejects_a_certificate_of_another_authority() {
    let mut world = single_node(Limits::default());
    let mut raw = Raw::dial(&world, 1, &foreign(&member(2)));
    raw.hello(CLUSTER, 2, 1);
    assert_rejected(&mut world, raw, CloseReason::NotAuthenticated);
}

#[test]
fn rejects_a_peer_without_certificate() {
    let mut world = single_node(Limits::default());
    let mut roots = RootCertStore::empty();
    let ours = CertificateDer::from_pem_slice(authority().1.certificate.as_bytes()).expect("it was issued as PEM");
    roots.add(ours).expect("it is a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = crate::identity::dns_name(CLUSTER, &member(1)).try_into().expect("it is a DNS name");
    let tls = ClientConnection::new(Arc::new(config), name).expect("all is there");
    let mut raw = Raw::connect(world.address(1), tls.into());
    raw.hello(CLUSTER, 2, 1);
    assert_rejected(&mut world, raw, CloseReason::NotAuthenticated);
}

#[test]
fn rejects_an_expired_certificate() {
    let mut world = single_node(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::minutes(-10)));
    raw.hello(CLUSTER, 2, 1);
    assert_rejected(&mut world, raw, CloseReason::Expired);
}

/// The peer's own clock is right: it is this node's that is slow, which is not the same as an old certificate.
#[test]
fn a_slow_clock_rejects_certificates_that_have_not_begun() {
    let slow = Clock::new().with_wall_seconds(-100 * 86_400);
    let mut world = single_node(Limits::default());
    let (authority, authority_key) = authority();
    let own = authority.issue(CLUSTER, &member(1), time::Duration::DAY).expect("issue a certificate");
    let identity = Identity::from_pem_with(slow, &authority_key.certificate, &own.certificate, &own.key, CLUSTER);
    world.node_mut(1).transport.identity = identity.expect("a valid identity");
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    raw.hello(CLUSTER, 2, 1);
    assert_rejected(&mut world, raw, CloseReason::NotYetValid);
}

#[test]
fn rejects_an_id_that_is_not_in_the_certificate() {
    let mut world = single_node(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(3), time::Duration::DAY));
    raw.hello(CLUSTER, 2, 1);
    assert_rejected(&mut world, raw, CloseReason::WrongId);
}

#[test]
fn rejects_its_own_id() {
    let mut world = single_node(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(1), time::Duration::DAY));
    raw.hello(CLUSTER, 1, 1);
    assert_rejected(&mut world, raw, CloseReason::WrongId);
}

#[test]
fn rejects_an_unknown_member() {
    let mut world = single_node(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(3), time::Duration::DAY));
    raw.hello(CLUSTER, 3, 1);
    assert_rejected(&mut world, raw, CloseReason::UnknownMember);
}

#[test]
fn admits_a_member_that_it_may_learn_of_later_but_none_that_was_removed() {
    let mut world = single_node(Limits::default());
    world.node_mut(1).transport.set_max_member_id(3);
    let mut removed = Raw::dial(&world, 1, &identity_for(&member(3), time::Duration::DAY));
    removed.hello(CLUSTER, 3, 1);
    assert_rejected(&mut world, removed, CloseReason::UnknownMember);
    let mut liar = Raw::dial(&world, 1, &identity_for(&member(5), time::Duration::DAY));
    liar.hello(CLUSTER, 4, 1);
    assert_rejected(&mut world, liar, CloseReason::WrongId);
    let mut unknown = Raw::dial(&world, 1, &identity_for(&member(4), time::Duration::DAY));
    unknown.hello(CLUSTER, 4, 1);
    world.until("it is admitted", |world| {
        unknown.pump();
        world.node(1).is_up(4)
    });
    // The node learns that the member was added and removed in the meantime.
    let now = world.clock.now();
    let node = world.node_mut(1);
    node.transport.set_max_member_id(4);
    node.transport.set_members(&[member(1)], now, &mut node.events);
    assert_eq!((node.is_up(4), node.down_reason(4)), (false, Some(CloseReason::Removed)));
}

#[test]
fn rejects_another_cluster_of_the_same_authority() {
    let mut world = single_node(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    raw.hello("city", 2, 1);
    assert_rejected(&mut world, raw, CloseReason::WrongCluster);
}

#[test]
fn rejects_an_undecodable_hello() {
    let mut world = single_node(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    raw.frame(&[0xff; 40]);
    assert_rejected(&mut world, raw, CloseReason::Malformed);
}

#[test]
fn rejects_another_protocol_version() {
    let mut world = single_node(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    raw.frame(&hello::Hello { version: PROTOCOL_VERSION + 1, ..hello(CLUSTER, 2, 1) }.encode());
    assert_rejected(&mut world, raw, CloseReason::VersionMismatch);
}

#[test]
fn rejects_another_frame_version() {
    let mut world = single_node(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    raw.plain(&[3, 0, 0, 0, 99, 1, 2, 3]);
    assert_rejected(&mut world, raw, CloseReason::VersionMismatch);
}

#[test]
fn rejects_a_large_frame_before_the_hello() {
    let mut world = single_node(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    // Its length is enough.
    raw.plain(&(MAX_HELLO_BYTES as u32 + 1).to_le_bytes());
    assert_rejected(&mut world, raw, CloseReason::FrameTooLarge);
}

/// The dialling node checks the peer too.
#[test]
fn the_dialling_node_rejects_any_other_peer() {
    let day = time::Duration::DAY;
    let cases = [
        (identity_for(&member(3), day), CloseReason::WrongId),
        (identity_for(&member(2), time::Duration::minutes(-10)), CloseReason::Expired),
        (foreign(&member(2)), CloseReason::NotAuthenticated),
    ];
    for (identity, reason) in cases {
        let mut world = World::new(2, Limits::default());
        world.kill(2);
        world.addresses[1] = "127.0.0.1:0".to_owned();
        world.start_alone(2, identity);
        let (members, now) = (world.members(), world.clock.now());
        let node = world.node_mut(1);
        node.transport.set_members(&members, now, &mut node.events);
        world.until("it is rejected, and the other one hears of it", |world| {
            let told = world.node(2).counters().rejected(CloseReason::CertificateRejected) > 0;
            told && world.node(1).counters().rejected(reason) > 0
        });
        assert!(world.nodes.iter().flatten().all(|node| node.events.is_empty()), "{reason}");
    }
}

/// A rejected member retries with increasing pauses.
#[test]
fn a_rejected_node_backs_off() {
    let mut world = World::new(2, Limits::default());
    world.kill(2);
    world.addresses[1] = "127.0.0.1:0".to_owned();
    world.start_alone(2, foreign(&member(2)));
    world.introduce();
    world.pass(Duration::from_millis(600));
    let tries = world.node(2).counters().dialled;
    assert!((3..=8).contains(&tries), "20 + 40 + 80 + 160 + 320 ms: {tries}");
}
