import SyncModel
public import SyncObjects
public import TomboloModeling

/// The declaration of users.
public struct UserModel: Model {
    public static let collection = "user"

    public let username = Field<String>("username", .required, .length(CommunityLimits.usernameBytes), .rule(.name))
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
