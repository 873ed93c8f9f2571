package import SyncModel

/// An order from the session to the engine that runs it.
///
/// It is a plain value, so that it can be printed, compared, and replayed.
package enum SyncAction: Hashable, Sendable {
    // Requests to the server. Each one ends with an event that carries the same serial.
    case sendHello(Serial)
    case push(Serial, PushRequest)
    case pull(Serial, PullRequest)
    /// Listen until `closeHints`, or until the connection ends.
    case openHints(Serial, [SpaceID])
    case closeHints(Serial)
    /// Cancel this request: its result is no longer needed.
    case abandon(Serial)

    // Calls of the store. One event answers each of them before the next order is carried out.
    case countOutbox
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
    /// Remember this fact about the contact with the server. No event answers it.
    case note(ContactNews)
    /// Write the write-ahead log (WAL) into the database file, if that is due. No event answers it.
    case checkpoint

    // Timers.
    case arm(Serial, after: Duration)
    case disarm(Serial)

    /// End the run: nothing is in flight anymore.
    case finish
}
