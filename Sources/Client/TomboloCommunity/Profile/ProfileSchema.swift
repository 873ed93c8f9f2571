public import SyncModel

/// The schema of profiles, for code that works with any collection.
public enum ProfileSchema {
    /// The collection `profile`, with the fields that `ProfileModel` declares.
    public static let schema = CommunityCatalog.schema(of: ProfileModel.self)
}
