/// The stage of an object between its creation and its end.
public enum Presence: String, Hashable, Sendable, CaseIterable {
    /// Exists in memory only; neither a store nor a server knows it.
    case draft
    /// A placeholder whose record has not been read yet, for example because the server has not responded.
    case awaited
    /// A placeholder for a record that is not here. It gets its values when the record arrives.
    case notHere
    /// The record is here, with its values.
    case here
    /// The record was deleted, or its creation was rejected. The object keeps its last values. The record can come back
    /// when the deletion is rejected, or when its creation is sent again.
    case gone
}
