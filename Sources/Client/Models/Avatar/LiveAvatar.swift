/// The avatar for every kind of source.
public final class LiveAvatar: LiveModel, Avatar {
    public static let kind = AvatarSchema.kind
    public let record: LiveRecord

    public init(record: LiveRecord) {
        self.record = record
    }

    public var imageURL: String {
        get { record.text(AvatarSchema.imageURL) ?? ImageURL.standard }
        set { record.set(AvatarSchema.imageURL, toText: newValue == ImageURL.standard ? nil : newValue) }
    }

    public var author: (any User)? {
        record.object(AvatarSchema.author, as: LiveUser.self)
    }

    public var description: String {
        switch presence {
        case .awaited, .notHere: record.label
        case .draft, .here, .gone: "avatar of \(author.map { "\($0)" } ?? "nobody")"
        }
    }
}
