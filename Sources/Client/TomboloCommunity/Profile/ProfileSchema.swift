public import SyncModel

/// The schema of profiles, for code that works with any collection.
public enum ProfileSchema {
    public static let schema = CommunityCatalog.schema(of: ProfileModel.self)
}
