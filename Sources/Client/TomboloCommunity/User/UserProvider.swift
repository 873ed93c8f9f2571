public import SyncModel
public import SyncObjects
import TomboloModeling

/// Makes and finds users.
public protocol UserProvider: Sendable {
    /// Makes a draft.
    func make(username: String) -> any User

    /// Returns the user with this uid at once, or a placeholder when it is not here.
    func user(uid: Int) throws(ModelError) -> any User

    /// Returns the user with this id at once, or a placeholder when it is not here.
    func user(id: RecordID) throws(ModelError) -> any User

    /// Returns users in the order of their ids, which is the order of creation except for imported ones.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of users; nil for all.
    ///   - offset: The number of users to skip first.
    func users(limit: Int?, offset: Int) async throws(ModelError) -> [any User]

    /// Returns all users with this name. Names need not be unique.
    func users(named username: String) async throws(ModelError) -> [any User]

    /// All users, now and after each change.
    var updates: QueryUpdates<any User> { get }
}

extension UserProvider {
    /// Returns all users in the order of their ids.
    public func users() async throws(ModelError) -> [any User] {
        try await users(limit: nil, offset: 0)
    }
}

extension ModelProvider: UserProvider where M == UserModel {
    public func make(username: String) -> any User { draft { $0.username = username } }

    public func user(uid: Int) throws(ModelError) -> any User { try object(uid: uid) }

    public func user(id: RecordID) throws(ModelError) -> any User { try object(id: id) }

    public func users(limit: Int?, offset: Int) async throws(ModelError) -> [any User] {
        try await query.page(limit: limit, offset: offset).all()
    }

    public func users(named username: String) async throws(ModelError) -> [any User] {
        try await query.where { $0.username == username }.all()
    }

    public var updates: QueryUpdates<any User> { query.updates.map { $0 } }
}
