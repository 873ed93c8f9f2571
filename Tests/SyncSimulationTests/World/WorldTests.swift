import SyncAuthority
import SyncCore
import SyncModel
import SyncSimulation
import SyncStoreSQLite
import Testing

@Suite
struct WorldTests {
    @Test func `a calm world comes to rest`() throws {
        let report = try World(.calm(seed: 1), parts: .plain()).run()
        #expect(report.deeds > 50)
        #expect(report.commits > 30)
        #expect(Set(report.refusals.keys).isSubset(of: ["stillReferenced"]), "\(report.refusals)")
        #expect(report.timeToRest < .seconds(60))
    }

    @Test func `the same seed gives the same world`() throws {
        for seed in 0..<4 as Range<UInt64> {
            let first = try World(.drawn(seed: seed, steps: 60), parts: .plain()).run()
            let second = try World(.drawn(seed: seed, steps: 60), parts: .plain()).run()
            #expect(first == second)
        }
    }

    @Test func `worlds of many seeds keep every promise`() throws {
        for seed in 0..<30 as Range<UInt64> {
            _ = try World(.drawn(seed: seed, steps: 100), parts: .plain()).run()
        }
    }
}

extension WorldParts {
    /// Stores on SQLite, and the plain authority with its bug.
    static func plain(mutant: PlainAuthority.Mutant? = nil) -> WorldParts {
        let disk = PlainAuthority.Disk(catalog: WorldCatalog.catalog)
        return WorldParts(
            wire: TableWire(),
            openStore: { process, runtime in
                var configuration = StoreConfiguration(file: "/cache.sqlite")
                configuration.vfs = process.vfsName
                configuration.connections = .single
                configuration.durability = .full
                var random = runtime.generator
                let store = try SQLiteStore.open(
                    configuration, catalog: WorldCatalog.catalog, now: runtime.now(), random: &random)
                if try store.session().spaces.isEmpty { try store.resetCursor(of: .default) }
                return store
            },
            openAuthority: { _ in PlainAuthority(disk: disk, mutant: mutant) })
    }
}

@Suite
struct MutantTests {
    /// The proof that the oracles see: a world with a planted bug does not get far.
    @Test(arguments: PlainAuthority.Mutant.allCases)
    func `a planted bug is found`(mutant: PlainAuthority.Mutant) throws {
        for seed in 0..<60 as Range<UInt64> {
            do {
                _ = try World(.drawn(seed: seed, steps: 150), parts: .plain(mutant: mutant)).run()
            } catch {
                #expect(error.cause is Violation, "\(error)")
                return
            }
        }
        Issue.record("\(mutant) was not found in 60 worlds")
    }
}
