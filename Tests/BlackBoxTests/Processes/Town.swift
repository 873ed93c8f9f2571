import Foundation
import Glibc

/// A server and its devices, each a folder with real processes over it, a proxy before each device, all on loopback.
///
/// Everything in it ends with `end()`, and with this object.
final class Town: Sendable {
    let folder: String
    let server: Server
    let devices: [Device]
    let variables: [String: String]

    /// - Parameters:
    ///   - seed: of the proxies' choices.
    ///   - isEncrypted: whether the server speaks TLS.
    ///   - startsServer: otherwise the test makes the tokens and starts it, once its disk is there.
    init(
        devices names: [String], seed: UInt64 = 1, isEncrypted: Bool = false,
        startsServer: Bool = true, settings: [String: String] = [:]
    ) throws {
        let folder = NSTemporaryDirectory() + "tombolo-box-\(UUID().uuidString.prefix(13))"
        self.folder = folder
        for part in ["logs", "server"] {
            try FileManager.default.createDirectory(
                atPath: "\(folder)/\(part)", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        variables = [
            "HOME": folder, "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TOMBOLO_ENVIRONMENT": "test", "NO_COLOR": "1",
            "SWIFT_BACKTRACE": "enable=no",
        ].merging(settings) { $1 }
        let certificate = isEncrypted ? try Self.makeCertificate(folder) : nil
        server = try Server(
            folder: "\(folder)/server", logs: "\(folder)/logs", variables: variables, certificate: certificate)
        if startsServer {
            for name in names { try server.addToken(name, to: "\(folder)/\(name).token") }
            try server.start()
        }
        var devices: [Device] = []
        for (index, name) in names.enumerated() {
            let proxy = try ByteProxy(upstream: server.port, seed: seed &* 31 &+ UInt64(index))
            devices.append(
                try Device(
                    name, folder: "\(folder)/\(name)", logs: "\(folder)/logs", variables: variables, proxy: proxy,
                    token: "\(folder)/\(name).token", certificate: certificate?.certificate))
        }
        self.devices = devices
    }

    deinit { end() }

    /// Ends all processes and proxies, and removes the folder.
    func end() {
        stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Ends all processes and proxies.
    func stop() {
        for device in devices {
            device.endWatch(SIGKILL)
            device.proxy.stop()
        }
        server.end(SIGKILL)
    }

    private static func makeCertificate(_ folder: String) throws -> (certificate: String, key: String) {
        let files = (certificate: folder + "/certificate.pem", key: folder + "/key.pem")
        let openssl = try Child(
            "openssl",
            [
                "/usr/bin/env", "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", files.key, "-out", files.certificate,
            ], variables: ["PATH": "/usr/bin:/bin", "HOME": folder], log: folder + "/logs/openssl")
        try demand(try openssl.wait(atMost: .seconds(20)) == 0, "openssl: \(openssl.errors)")
        return files
    }
}
