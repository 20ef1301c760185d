//! Those who are not whom they should be: refused, counted, and nobody comes up.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::raw::{Raw, hello};
use super::*;

/// A node that knows a member 2 which is nowhere to be found.
pub(super) fn lonely(limits: Limits) -> World {
    let mut world = World::new(1, limits);
    let now = world.clock.now();
    let nowhere = Member { address: "127.0.0.1:1".to_owned(), ..member(2) };
    let node = world.node_mut(1);
    node.transport.set_members(&[member(1), nowhere], now, &mut Vec::new());
    world
}

/// The node ends a connection for this reason, and has no other reason.
fn assert_refused(world: &mut World, mut raw: Raw, why: Ended) {
    world.until("the connection is refused", |world| {
        raw.pump();
        raw.ended && world.node(1).counters().refused(why) == 1
    });
    assert!(world.node(1).events.is_empty(), "{:?}", world.node(1).events);
    assert_eq!(world.node(1).counters().established, 0);
}

/// What somebody has been issued by another authority.
fn foreign(member: &Member) -> Identity {
    let (other, theirs) = Authority::create(CLUSTER, time::Duration::DAY).expect("an authority can be made");
    let own = other.issue(CLUSTER, member, time::Duration::DAY).expect("it can sign");
    // It believes in our authority, so that it is not the one who refuses.
    let believed = format!("{}{}", authority().1.certificate, theirs.certificate);
    Identity::from_pem(&believed, &own.certificate, &own.key, CLUSTER).expect("what was issued is in order")
}

#[test]
fn a_certificate_of_another_authority() {
    let mut world = lonely(Limits::default());
    let mut raw = Raw::dial(&world, 1, &foreign(&member(2)));
    raw.hello(CLUSTER, 2, 1);
    assert_refused(&mut world, raw, Ended::NotAuthenticated);
}

#[test]
fn no_certificate() {
    let mut world = lonely(Limits::default());
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
    assert_refused(&mut world, raw, Ended::NotAuthenticated);
}

#[test]
fn a_certificate_that_is_over() {
    let mut world = lonely(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::minutes(-10)));
    raw.hello(CLUSTER, 2, 1);
    assert_refused(&mut world, raw, Ended::Expired);
}

#[test]
fn the_right_certificate_and_another_id() {
    let mut world = lonely(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(3), time::Duration::DAY));
    raw.hello(CLUSTER, 2, 1);
    assert_refused(&mut world, raw, Ended::OtherId);
}

#[test]
fn the_id_of_the_node_itself() {
    let mut world = lonely(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(1), time::Duration::DAY));
    raw.hello(CLUSTER, 1, 1);
    assert_refused(&mut world, raw, Ended::OtherId);
}

#[test]
fn somebody_who_is_not_a_member() {
    let mut world = lonely(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(3), time::Duration::DAY));
    raw.hello(CLUSTER, 3, 1);
    assert_refused(&mut world, raw, Ended::Stranger);
}

#[test]
fn another_cluster_of_the_same_authority() {
    let mut world = lonely(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    raw.hello("city", 2, 1);
    assert_refused(&mut world, raw, Ended::OtherCluster);
}

#[test]
fn a_hello_that_is_none() {
    let mut world = lonely(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    raw.frame(&[0xff; 40]);
    assert_refused(&mut world, raw, Ended::Garbage);
}

#[test]
fn another_version_of_the_protocol() {
    let mut world = lonely(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    raw.frame(&hello::Hello { version: PROTOCOL_VERSION + 1, ..hello(CLUSTER, 2, 1) }.encode());
    assert_refused(&mut world, raw, Ended::OtherVersion);
}

#[test]
fn another_version_of_frames() {
    let mut world = lonely(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    raw.plain(&[3, 0, 0, 0, 99, 1, 2, 3]);
    assert_refused(&mut world, raw, Ended::OtherVersion);
}

#[test]
fn a_frame_of_more_than_a_kib_before_the_hello() {
    let mut world = lonely(Limits::default());
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    // Its length is enough.
    raw.plain(&(MAX_HELLO_BYTES as u32 + 1).to_le_bytes());
    assert_refused(&mut world, raw, Ended::Oversize);
}

/// The one who dials also looks at whom it has reached.
#[test]
fn one_who_dials_refuses_others_than_the_one_it_dials() {
    let day = time::Duration::DAY;
    let cases = [
        (identity_for(&member(3), day), Ended::OtherId),
        (identity_for(&member(2), time::Duration::minutes(-10)), Ended::Expired),
        (foreign(&member(2)), Ended::NotAuthenticated),
    ];
    for (identity, why) in cases {
        let mut world = World::new(2, Limits::default());
        world.kill(2);
        world.addresses[1] = "127.0.0.1:0".to_owned();
        world.start_alone(2, identity);
        let (members, now) = (world.members(), world.clock.now());
        let node = world.node_mut(1);
        node.transport.set_members(&members, now, &mut node.events);
        world.until("it is refused, and the other one hears of it", |world| {
            let told = world.node(2).counters().refused(Ended::Refused) > 0;
            told && world.node(1).counters().refused(why) > 0
        });
        assert!(world.nodes.iter().flatten().all(|node| node.events.is_empty()), "{why}");
    }
}

/// A member that dials and is refused goes on trying, more and more slowly.
#[test]
fn a_refused_dialler_does_not_hurry() {
    let mut world = World::new(2, Limits::default());
    world.kill(2);
    world.addresses[1] = "127.0.0.1:0".to_owned();
    world.start_alone(2, foreign(&member(2)));
    world.introduce();
    world.pass(Duration::from_millis(600));
    let tries = world.node(2).counters().dialled;
    assert!((3..=8).contains(&tries), "20 + 40 + 80 + 160 + 320 ms: {tries}");
}
