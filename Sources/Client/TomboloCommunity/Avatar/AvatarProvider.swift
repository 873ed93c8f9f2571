public import SyncModel
public import SyncObjects
import TomboloModeling

/// Makes and finds avatars.
public protocol AvatarProvider: Sendable {
    /// Makes a draft. A draft author is created together with the avatar.
    ///
    /// - Parameter imageURL: The URL of the picture; nil for the standard picture.
    func make(author: any User, imageURL: String?) -> any Avatar

    /// Returns the avatar with this uid at once, or a placeholder when it is not here.
    func avatar(uid: Int) throws(ModelError) -> any Avatar

    /// Returns the avatar with this id at once, or a placeholder when it is not here.
    func avatar(id: RecordID) throws(ModelError) -> any Avatar

    /// Returns avatars in the order of their ids, which is the order of creation except for imported ones.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of avatars; nil for all.
    ///   - offset: The number of avatars to skip first.
    func avatars(limit: Int?, offset: Int) async throws(ModelError) -> [any Avatar]

    /// Returns the avatars of one author in the order of their ids; empty for an author whose id is not known.
    func avatars(by author: any User) async throws(ModelError) -> [any Avatar]

    /// All avatars, now and after each change.
    var updates: QueryUpdates<any Avatar> { get }
}

extension AvatarProvider {
    /// Makes a draft with the standard picture.
    public func make(author: any User) -> any Avatar {
        make(author: author, imageURL: nil)
    }

    /// Returns all avatars in the order of their ids.
    public func avatars() async throws(ModelError) -> [any Avatar] {
        try await avatars(limit: nil, offset: 0)
    }
}

extension ModelProvider: AvatarProvider where M == AvatarModel {
    public func make(author: any User, imageURL: String?) -> any Avatar {
        draft { avatar in
            avatar.refer(avatar.fields.author, to: author)
            avatar[avatar.fields.imageURL] = imageURL
        }
    }

    public func avatar(uid: Int) throws(ModelError) -> any Avatar { try object(uid: uid) }

    public func avatar(id: RecordID) throws(ModelError) -> any Avatar { try object(id: id) }

    public func avatars(limit: Int?, offset: Int) async throws(ModelError) -> [any Avatar] {
        try await query.page(limit: limit, offset: offset).all()
    }

    public func avatars(by author: any User) async throws(ModelError) -> [any Avatar] {
        guard let id = author.id else { return [] }
        return try await query.where { $0.author == id }.all()
    }

    public var updates: QueryUpdates<any Avatar> { query.updates.map { $0 } }
}
