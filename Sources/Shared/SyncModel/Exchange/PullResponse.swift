/// The server's response to a pull.
public enum PullResponse: Hashable, Sendable {
    /// The page that follows the request's cursor. It is empty when there is nothing new.
    case page(PullPage)
    /// The cursor can no longer be used. The client must start again with a snapshot, and keep its outbox.
    case mustReset(ResetReason)
    /// The account may not read the space, or no space has this name. The client must vacate the space.
    ///
    /// The epoch names the history for which this holds: another server at the same address knows nothing about the
    /// account's rights in this history.
    case noAccess(Epoch)
}

/// The reason why a server cannot continue after a cursor.
public enum ResetReason: String, Hashable, Sendable {
    /// The server cannot tell the changes since the cursor: its change feed no longer has them, or it no longer serves
    /// the collection that an unfinished snapshot has reached.
    case horizon
    /// The server has a different history: it was restored from a backup, or replaced.
    case epoch
    /// The server cannot read the cursor: it is damaged, or a different server created it.
    case cursor
}
