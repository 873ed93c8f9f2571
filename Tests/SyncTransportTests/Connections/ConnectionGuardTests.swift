import NIOCore
import NIOEmbedded
import TestRings
import Testing

@testable import SyncServerHTTP

/// Tests the guards of sockets and HTTP/2 connections with virtual time.
@Suite(.ring(.unit)) struct ConnectionGuardTests {
    @Test func `a connection is closed if its peer reads nothing`() throws {
        let socket = StuckSocket()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(socket, SlowReaderGuard())
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.writeAndFlush(ByteBuffer(string: "taken"), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        socket.isStuck = true
        channel.writeAndFlush(ByteBuffer(repeating: 0, count: 100), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: TimeAmount(SyncServerLimits.writeTimeout) - .nanoseconds(1))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
        #expect(!channel.isActive)
    }

    @Test func `a peer that reads everything in time keeps its connection`() throws {
        let socket = StuckSocket()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(socket, SlowReaderGuard())
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        for _ in 0..<5 {
            socket.isStuck = true
            channel.writeAndFlush(ByteBuffer(repeating: 0, count: 100), promise: nil)
            channel.embeddedEventLoop.advanceTime(by: .seconds(29))
            socket.isStuck = false
            channel.flush()
        }
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        _ = try channel.finish()
    }

    @Test func `an HTTP2 connection without a stream is closed, after a shorter time if it never had one`() throws {
        let watch = HTTP2Guard(idle: .seconds(75), activity: .init(isUnauthenticated: { false }))
        let channel = EmbeddedChannel(handler: watch)
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        #expect(watch.streamOpened())
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        watch.streamClosed()
        channel.embeddedEventLoop.advanceTime(by: .seconds(79))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)

        let silent = EmbeddedChannel(handler: HTTP2Guard(idle: .seconds(75)))
        try silent.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        silent.embeddedEventLoop.advanceTime(by: .seconds(10))
        #expect(!silent.isActive)
    }

    @Test func `an unauthenticated HTTP2 connection without a stream gets only the time allowed for a head`() throws {
        let watch = HTTP2Guard(idle: .seconds(75))
        let channel = EmbeddedChannel(handler: watch)
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        #expect(watch.streamOpened())
        watch.streamClosed()
        channel.embeddedEventLoop.advanceTime(by: .seconds(14))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func `an unauthenticated HTTP2 connection may have only a few streams at a time`() {
        final class Door { var isUnauthenticated = true }
        let door = Door()
        let watch = HTTP2Guard(idle: .seconds(75), activity: .init(isUnauthenticated: { door.isUnauthenticated }))
        let room = (0..<20).map { _ in watch.streamOpened() }
        #expect(room.count { $0 } == SyncServerLimits.streamsOfUnauthenticated)
        watch.streamClosed()
        door.isUnauthenticated = false
        #expect((0..<50).allSatisfy { _ in watch.streamOpened() })
    }

    @Test func `a stream is reset if its window stays closed`() throws {
        let socket = StuckSocket()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(socket, StreamGuard())
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.writeAndFlush(ByteBuffer(string: "taken"), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        socket.isStuck = true
        channel.writeAndFlush(ByteBuffer(string: "never taken"), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: TimeAmount(SyncServerLimits.writeTimeout))
        #expect(!channel.isActive)
    }
}
