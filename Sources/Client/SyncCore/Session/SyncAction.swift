package import SyncModel

/// An action that the session requests from the engine. The cases are grouped by the part that carries them out.
///
/// It is a plain value, so that it can be printed, compared, and replayed.
package enum SyncAction: Hashable, Sendable {
    case server(ServerAction)
    case store(StoreAction)
    case timer(TimerAction)
    /// Remember this fact about the contact with the server. No event answers it.
    case note(ContactChange)
    /// Write the write-ahead log (WAL) into the database file, if that is due. No event answers it.
    case checkpoint
    /// End the run: nothing is in flight anymore.
    case finish
}

/// An action of the transport.
package enum ServerAction: Hashable, Sendable {
    /// Begin a request. It ends with an event that carries the same serial.
    case send(Serial, EngineRequest)
    /// End this stream of hints.
    case closeHints(Serial)
    /// Cancel this request: its result is no longer needed.
    case abandon(Serial)
}

/// A request that the engine makes for the session.
package enum EngineRequest: Hashable, Sendable {
    case hello
    case push(PushRequest)
    case pull(PullRequest)
    /// Listen until `closeHints`, or until the connection ends.
    case hints([SpaceID])
}

/// A call of the store. One event answers it, after the engine has carried out all actions of the turn.
package enum StoreAction: Hashable, Sendable {
    case countOutbox
    /// Read which spaces the device follows.
    case readSpaces
    case takeBatch(BatchLimit)
    /// The identity is the one that the transactions were pushed under.
    case record([TransactionResult], of: ClientIdentity, serverTime: HybridTime)
    /// The cursor is the one that the page was requested with.
    case apply(PullPage, after: Cursor?, brake: DeleteBrake?)
    /// Give up a transaction that the server refuses to take. The identity is the one that it was pushed under.
    case withdraw(TransactionNumber, Rejection, of: ClientIdentity)
    case resetCursor(SpaceID)
    /// Remove everything that the server has shown of a space that the account may no longer read.
    case vacate(SpaceID, of: Epoch, brake: DeleteBrake?)
    case adopt(Epoch, AccountID)
    case renewIdentity
}

package enum TimerAction: Hashable, Sendable {
    case arm(Serial, after: Duration)
    case disarm(Serial)
}
