/// The stage of an object between its creation and its end.
public enum Presence: String, Hashable, Sendable, CaseIterable {
    /// Exists in memory only; neither a store nor a server knows it.
    case draft
    /// A placeholder: the server has been asked and has not answered yet.
    case awaited
    /// A placeholder for a record that is not here. It is filled when the record arrives.
    case notHere
    /// The values are here.
    case here
    /// Deleted, or its creation was rejected. The values are the last ones that were here.
    case gone
}
