/// The rule that merges two edits of one field when neither author has seen the other edit.
public enum MergeRule: String, Hashable, Sendable, CaseIterable {
    /// The edit with the greater stamp wins. Stamps in the future are clamped first.
    case latestEdit
    /// The server's value stays.
    case serverWins
    /// The pushed value wins.
    case clientWins
}

/// The rule for a delete whose author has not seen the latest edits of the record.
public enum DeleteRule: String, Hashable, Sendable, CaseIterable {
    /// The record is deleted. Each edit that the author of the delete had not seen goes to the journal of the device
    /// that wrote it.
    case deleteWins
    /// The delete is rejected, and the record stays.
    case editWins
}
