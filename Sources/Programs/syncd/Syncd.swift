import TomboloCommunity
import TomboloServer

/// The stock server: of the community's models.
@main struct Syncd {
    static func main() async {
        await SyncServerProgram.main(models: CommunityCatalog.catalog)
    }
}
