import SyncModel
public import SyncObjects
public import TomboloModeling

/// The declaration of users.
public struct UserModel: Model {
    public static let collection = "user"

    /// The user's name, 1 to 64 bytes long. Names need not be unique.
    public let username = Field<String>("username", .required, .length(CommunityLimits.usernameBytes), .rule(.name))
    /// The avatar that represents the user; nil for none. Optional, because an avatar requires its author.
    public let avatar = Reference<AvatarModel>("avatar")

    public init() {}
}

extension UserModel: DescribedModel {
    public static func description(of user: Live<UserModel>) -> String { user.username }
}

extension Live: User where M == UserModel {
    public var username: String {
        get { self[fields.username] }
        set { self[fields.username] = newValue }
    }

    public var avatar: (any Avatar)? {
        get { self[fields.avatar] }
        set { refer(fields.avatar, to: newValue) }
    }
}
