public import SyncModel

/// The schema of avatars, for code that works with any collection.
public enum AvatarSchema {
    public static let schema = CommunityCatalog.schema(of: AvatarModel.self)
}
