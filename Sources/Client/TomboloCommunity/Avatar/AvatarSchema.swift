public import SyncModel

/// The schema of avatars, for code that works with any collection.
public enum AvatarSchema {
    /// The collection `avatar`, with the fields that `AvatarModel` declares.
    public static let schema = CommunityCatalog.schema(of: AvatarModel.self)
}
