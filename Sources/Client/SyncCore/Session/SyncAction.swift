package import SyncModel

/// An order of the session to the shell that runs it. A value: it prints, compares and replays.
package enum SyncAction: Hashable, Sendable {
    // To the server. Each ends with the event of the same serial.
    case sendHello(Serial)
    case push(Serial, PushRequest)
    case pull(Serial, PullRequest)
    /// Listen until `closeHints` or until the connection ends.
    case openHints(Serial, [SpaceID])
    case closeHints(Serial)
    /// Nobody waits for this request any more: cancel it.
    case abandon(Serial)

    // To the store. Each is answered by one event before the next order is carried out.
    case countOutbox
    case takeBatch(BatchLimit)
    /// The identity is the one that the transactions were pushed as.
    case record([TransactionResult], of: ClientIdentity, serverTime: HybridTime)
    /// The cursor is the one that was asked with.
    case apply(PullPage, after: Cursor?, brake: DeleteBrake?)
    /// Give up a transaction that the server refuses to take. The identity is the one that it was pushed as.
    case withdraw(TransactionNumber, Rejection, of: ClientIdentity)
    case resetCursor(SpaceID)
    /// Remove what the server has shown of a space that it shows no more.
    case vacate(SpaceID, of: Epoch, brake: DeleteBrake?)
    case adopt(Epoch, AccountID)
    case renewIdentity
    /// Remember this of the contact with the server. Not answered.
    case note(ContactNews)
    /// Write the log into the database file, when that is due. Not answered.
    case checkpoint

    // Timers.
    case arm(Serial, after: Duration)
    case disarm(Serial)

    /// Nothing is on its way any more: end the run.
    case finish
}
