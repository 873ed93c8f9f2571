import SyncModel

/// The user for every kind of source.
public final class LiveUser: LiveModel, User {
    public static let kind = UserSchema.kind
    public let record: LiveRecord

    public init(record: LiveRecord) {
        self.record = record
    }

    public var username: String {
        get { record.text(UserSchema.username) ?? "" }
        set { record.set(UserSchema.username, toText: FieldRule.name.normalized(newValue)) }
    }

    public var avatar: (any Avatar)? {
        get { record.object(UserSchema.avatar, as: LiveAvatar.self) }
        set { record.set(UserSchema.avatar, to: newValue) }
    }

    public var description: String {
        switch presence {
        case .awaited, .notHere: record.label
        case .draft, .here, .gone: username
        }
    }
}
