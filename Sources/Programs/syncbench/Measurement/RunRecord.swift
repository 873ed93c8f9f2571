import BenchmarkUsers
import Foundation

/// The figures of one run, as `--json` writes them and `--gate` reads them.
struct RunRecord: Codable, Hashable {
    /// When and where the run was, for people.
    let at: String
    let machine: String
    /// The number of users in the databases.
    let rows: Int64
    let rounds: Int
    let figures: [Figure]

    /// The fall of a ratio that fails the gate: more than the noise of a busy machine.
    static let permittedFall = 0.1

    init(at: String, machine: String, rows: Int64, rounds: Int, figures: [Figure]) {
        self.at = at
        self.machine = machine
        self.rows = rows
        self.rounds = rounds
        self.figures = figures
    }

    init(file: String) throws {
        do {
            self = try JSONDecoder().decode(RunRecord.self, from: Data(contentsOf: URL(filePath: file)))
        } catch {
            throw BenchmarkError("\(file) is not the record of a run: \(error)")
        }
    }

    func write(to file: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try (encoder.encode(self) + Data("\n".utf8)).write(to: URL(filePath: file))
    }

    /// Returns the ratios that are more than `permittedFall` below those of an earlier run, one sentence each.
    ///
    /// Only the ratios of steady figures are compared, because absolute figures depend on the machine. Figures that one
    /// of the runs does not have are left out.
    func falls(since earlier: RunRecord) -> [String] {
        ratios(with: earlier).compactMap { key, before, now in
            guard now < before * (1 - Self.permittedFall) else { return nil }
            let percent = Int(((1 - now / before) * 100).rounded())
            return "\(key): \(Figure.text(now)) is \(percent) % below \(Figure.text(before))"
        }
    }

    /// Returns how many ratios can be compared with those of an earlier run.
    func comparable(with earlier: RunRecord) -> Int {
        ratios(with: earlier).count
    }

    private func ratios(with earlier: RunRecord) -> [(key: String, before: Double, now: Double)] {
        let ratios = Dictionary(figures.map { ($0.key, $0.ratio) }) { first, _ in first }
        return earlier.figures.compactMap { figure in
            guard figure.isSteady, let before = figure.ratio, let now = ratios[figure.key] ?? nil else { return nil }
            return (figure.key, before, now)
        }
    }
}
