import SyncModel

/// The profile for every kind of source.
public final class LiveProfile: LiveModel, Profile {
    public static let kind = ProfileSchema.kind
    public let record: LiveRecord

    public init(record: LiveRecord) {
        self.record = record
    }

    public var user: (any User)? {
        record.object(ProfileSchema.user, as: LiveUser.self)
    }

    public var fullName: String? {
        get { record.text(ProfileSchema.fullName) }
        set { record.set(ProfileSchema.fullName, toText: newValue) }
    }

    public var address: (any Address)? {
        get {
            guard case .json(let json) = record[ProfileSchema.address] else { return nil }
            return AddressCodec.address(json: json)
        }
        set { record[ProfileSchema.address] = newValue.map { .json($0.json) } ?? .null }
    }

    public var description: String {
        switch presence {
        case .awaited, .notHere: record.label
        case .draft, .here, .gone: "profile of \(user.map { "\($0)" } ?? "nobody")"
        }
    }
}
