public import SyncModel
public import SyncObjects
import TomboloModeling

/// Makes and finds profiles.
public protocol ProfileProvider: Sendable {
    /// Makes a draft. A draft user is created together with the profile.
    ///
    /// - Parameter address: The postal address; nil for none.
    func make(user: any User, address: (any Address)?) -> any Profile

    /// Returns the profile with this uid at once, or a placeholder when it is not here.
    func profile(uid: Int) throws(ModelError) -> any Profile

    /// Returns the profile with this id at once, or a placeholder when it is not here.
    func profile(id: RecordID) throws(ModelError) -> any Profile

    /// Returns profiles in the order of their ids, which is the order of creation except for imported ones.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of profiles; nil for all.
    ///   - offset: The number of profiles to skip first.
    func profiles(limit: Int?, offset: Int) async throws(ModelError) -> [any Profile]

    /// Returns the profiles of one user in the order of their ids; empty for a user whose id is not known.
    ///
    /// There may be several: two devices can each create one while offline.
    func profiles(of user: any User) async throws(ModelError) -> [any Profile]

    /// All profiles, now and after each change.
    var updates: QueryUpdates<any Profile> { get }
}

extension ProfileProvider {
    /// Returns all profiles in the order of their ids.
    public func profiles() async throws(ModelError) -> [any Profile] {
        try await profiles(limit: nil, offset: 0)
    }
}

extension ModelProvider: ProfileProvider where M == ProfileModel {
    public func make(user: any User, address: (any Address)?) -> any Profile {
        draft { profile in
            profile.refer(profile.fields.user, to: user)
            if let address { profile.address = address }
        }
    }

    public func profile(uid: Int) throws(ModelError) -> any Profile { try object(uid: uid) }

    public func profile(id: RecordID) throws(ModelError) -> any Profile { try object(id: id) }

    public func profiles(limit: Int?, offset: Int) async throws(ModelError) -> [any Profile] {
        try await query.page(limit: limit, offset: offset).all()
    }

    public func profiles(of user: any User) async throws(ModelError) -> [any Profile] {
        guard let id = user.id else { return [] }
        return try await query.where { $0.user == id }.all()
    }

    public var updates: QueryUpdates<any Profile> { query.updates.map { $0 } }
}
