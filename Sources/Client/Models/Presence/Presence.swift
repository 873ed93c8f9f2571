/// Where an object stands between being made and being gone.
public enum Presence: String, Hashable, Sendable, CaseIterable {
    /// Made in memory, and not created yet: no store and no server knows it.
    case draft
    /// A placeholder: the server has been asked, and has not answered yet.
    case awaited
    /// A placeholder for something that is not here. It fills when the record arrives.
    case notHere
    /// Its values are here.
    case here
    /// Deleted, or its creation was refused. The values are those that were last here.
    case gone
}
