public import SyncModel
public import TomboloModeling

/// The models of the community.
public enum CommunityCatalog {
    /// The model types, for the list with which a client or a server is opened.
    public static let models: [any Model.Type] = [UserModel.self, AvatarModel.self, ProfileModel.self]

    /// The models, registered and checked.
    public static let registered: ModelCatalog = {
        do { return try ModelCatalog(models) } catch { preconditionFailure("the community's own models: \(error)") }
    }()

    /// The schemas of the community's collections.
    public static var catalog: SchemaCatalog { registered.schemas }

    static func schema<M: Model>(of type: M.Type) -> ModelSchema {
        do { return try registered.shape(of: type).schema } catch {
            preconditionFailure("the community's own models: \(error)")
        }
    }
}
