public import SyncModel

/// The schema of users, for code that works with any collection.
public enum UserSchema {
    /// The collection `user`, with the fields that `UserModel` declares.
    public static let schema = CommunityCatalog.schema(of: UserModel.self)
}
