import Foundation
package import SyncModel

/// Formats times for people and scripts: ISO 8601 in UTC, to the second.
package enum TimeText {
    package static func text(_ time: WallTime) -> String {
        Date(timeIntervalSince1970: Double(time.milliseconds / 1_000)).formatted(.iso8601)
    }
}
