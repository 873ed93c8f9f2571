import SyncModel
public import SyncObjects
public import TomboloModeling

/// The declaration of profiles.
public struct ProfileModel: Model {
    public static let collection = "profile"

    /// The user whom the profile describes. Required, so the server does not delete a user who still has a profile.
    public let user = Reference<UserModel>("user", .required)
    /// The full name, 1 to 256 bytes long; nil when there is none.
    public let fullName = Field<String?>("full_name", .length(CommunityLimits.fullNameBytes), .rule(.name))
    /// The postal address, 2 to 4,096 bytes long as JSON; nil when there is none.
    public let address = Field<StoredAddress?>("address", .length(CommunityLimits.addressBytes), .rule(.address))

    public init() {}
}

extension ProfileModel: DescribedModel {
    public static func description(of profile: Live<ProfileModel>) -> String {
        "profile of \(profile.user.map { "\($0)" } ?? "nobody")"
    }
}

extension Live: Profile where M == ProfileModel {
    public var user: (any User)? { self[fields.user] }

    public var fullName: String? {
        get { self[fields.fullName] }
        set { self[fields.fullName] = newValue }
    }

    public var address: (any Address)? {
        get { self[fields.address]?.address }
        set { self[fields.address] = newValue.map { StoredAddress($0) } }
    }
}
