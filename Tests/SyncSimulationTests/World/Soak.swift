import Glibc
import TestRings

/// The settings of a soak run, from the environment: `SIMULATION_SEEDS=1000..<3000 SIMULATION_STEPS=500 swift test`.
enum Soak {
    static let isOn = TestRing.current == .soak || text("SIMULATION_SEEDS") != nil

    /// The seeds to run.
    static let seeds: Range<UInt64> = {
        let bounds = (text("SIMULATION_SEEDS") ?? standard).split(separator: "..<").compactMap { UInt64($0) }
        guard bounds.count == 2, bounds[0] <= bounds[1] else {
            preconditionFailure("SIMULATION_SEEDS is not of the form 0..<100")
        }
        return bounds[0]..<bounds[1]
    }()

    /// The seeds that the current ring runs if the environment does not set any.
    private static var standard: String {
        switch TestRing.current {
        case .unit, .test: "0..<4"
        case .check: "0..<20"
        case .soak: "0..<900"
        }
    }

    static let steps = text("SIMULATION_STEPS").flatMap { Int($0) } ?? (TestRing.current == .soak ? 300 : 100)

    private static func text(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
