//! Who speaks for the holder of an office.

use super::Node;
use crate::api::{Request, RequestError};
use crate::core::ClientId;

impl Node {
    /// Fails if a client asks for something in the name of a holder that it does not belong to. The token alone proves
    /// nothing: everybody who may read can see it.
    ///
    /// A command of `hustings run` has a connection of its own, so those of one user speak for each other. Operators,
    /// and the HTTP API, which checks its callers itself, may always ask.
    pub(super) fn check_holder(&self, client: ClientId, request: &Request) -> Result<(), RequestError> {
        let (Request::Complete { office, token, .. }
        | Request::PutState { office, token, .. }
        | Request::DeleteState { office, token: Some(token) }) = request
        else {
            return Ok(());
        };
        let Some(asking) = self.clients.peer(client).filter(|peer| !peer.rights.operate) else { return Ok(()) };
        let refusal = |code: &str, message| Err(RequestError { code: code.to_string(), message });
        match self.core.holder(office, *token).and_then(|holder| self.clients.peer(holder)) {
            Some(holder) if holder.uid == asking.uid => Ok(()),
            Some(_) => refusal("held-by-another", format!("a program of another user holds the office `{office}`")),
            None => {
                let message = format!("the office `{office}` is not held with this token by a program on this host");
                refusal("stale-token", message)
            }
        }
    }
}
