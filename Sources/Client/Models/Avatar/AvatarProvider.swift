import SyncCore
public import SyncModel

/// Makes and finds avatars.
public protocol AvatarProvider: Sendable {
    /// Makes a draft. A draft author is created together with the avatar.
    ///
    /// - Parameter imageURL: The URL of the picture; nil for the standard picture.
    func make(author: any User, imageURL: String?) -> any Avatar

    /// Returns the avatar at once from what is here, or a placeholder when it is not here.
    func avatar(uid: Int) throws(ModelFailure) -> any Avatar

    func avatar(id: RecordID) throws(ModelFailure) -> any Avatar

    /// Returns avatars in the order of creation.
    func avatars(limit: Int?, offset: Int) async throws(ModelFailure) -> [any Avatar]

    func avatars(by author: any User) async throws(ModelFailure) -> [any Avatar]

    /// All avatars, now and after each change.
    var updates: QueryUpdates<any Avatar> { get }
}

extension AvatarProvider {
    public func make(author: any User) -> any Avatar {
        make(author: author, imageURL: nil)
    }

    public func avatars() async throws(ModelFailure) -> [any Avatar] {
        try await avatars(limit: nil, offset: 0)
    }
}

/// A provider of avatars from the live objects of any source.
public struct LiveAvatars: AvatarProvider {
    private let objects: LiveObjects

    public init(_ objects: LiveObjects) {
        self.objects = objects
    }

    public func make(author: any User, imageURL: String?) -> any Avatar {
        objects.make(LiveAvatar.self) { record in
            record.set(AvatarSchema.author, to: author)
            record.set(AvatarSchema.imageURL, toText: imageURL)
        }
    }

    public func avatar(uid: Int) throws(ModelFailure) -> any Avatar {
        try objects.object(LiveAvatar.self, uid: uid)
    }

    public func avatar(id: RecordID) throws(ModelFailure) -> any Avatar {
        try objects.object(LiveAvatar.self, id: id)
    }

    public func avatars(limit: Int?, offset: Int) async throws(ModelFailure) -> [any Avatar] {
        try await objects.objects(
            LiveAvatar.self, matching: RecordQuery(LiveAvatar.kind.collection, limit: limit, offset: offset))
    }

    public func avatars(by author: any User) async throws(ModelFailure) -> [any Avatar] {
        guard let id = author.id else { return [] }
        let condition = RecordFilter(AvatarSchema.author.name, equals: .reference(id))
        return try await objects.objects(
            LiveAvatar.self, matching: RecordQuery(LiveAvatar.kind.collection, where: [condition]))
    }

    public var updates: QueryUpdates<any Avatar> {
        objects.observe(LiveAvatar.self, matching: RecordQuery(LiveAvatar.kind.collection)).map { $0 }
    }
}
