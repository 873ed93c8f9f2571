import Glibc

/// The wide run, asked for by the environment: `SIMULATION_SEEDS=1000..<3000 SIMULATION_STEPS=500 swift test`.
enum Soak {
    static let isOn = text("SIMULATION_SEEDS") != nil

    /// The seeds to run; a few when nobody asks for more.
    static let seeds: Range<UInt64> = {
        let bounds = (text("SIMULATION_SEEDS") ?? "0..<20").split(separator: "..<").compactMap { UInt64($0) }
        guard bounds.count == 2, bounds[0] <= bounds[1] else {
            preconditionFailure("SIMULATION_SEEDS is not of the form 0..<100")
        }
        return bounds[0]..<bounds[1]
    }()

    static let steps = text("SIMULATION_STEPS").flatMap { Int($0) } ?? 100

    private static func text(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
