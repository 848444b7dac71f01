package dev.waybill.transport;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import javax.net.ssl.HandshakeCompletedListener;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/** Lays TLS over a {@link Wire.WireSocket} and taps the plaintext above it. */
final class TappedTls extends SSLSocketFactory {
    private final SSLSocketFactory delegate;

    TappedTls(SSLSocketFactory delegate) {
        this.delegate = delegate;
    }

    @Override
    public Socket createSocket(Socket socket, String host, int port, boolean autoClose) throws IOException {
        if (!(socket instanceof Wire.WireSocket plain)) throw new IOException("TLS over a socket that is not ours");
        return new Tapped((SSLSocket) delegate.createSocket(socket, host, port, autoClose), plain.wire());
    }

    @Override
    public String[] getDefaultCipherSuites() {
        return delegate.getDefaultCipherSuites();
    }

    @Override
    public String[] getSupportedCipherSuites() {
        return delegate.getSupportedCipherSuites();
    }

    @Override
    public Socket createSocket(String host, int port) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress localHost, int localPort) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(InetAddress host, int port) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(InetAddress address, int port, InetAddress localAddress, int localPort) {
        throw new UnsupportedOperationException();
    }

    private static final class Tapped extends SSLSocket {
        private final SSLSocket tls;
        private final Wire wire;

        Tapped(SSLSocket tls, Wire wire) {
            this.tls = tls;
            this.wire = wire;
        }

        @Override
        public InputStream getInputStream() throws IOException {
            return wire.tapped(tls.getInputStream());
        }

        @Override
        public OutputStream getOutputStream() throws IOException {
            return wire.tapped(tls.getOutputStream(), tls);
        }

        @Override
        public void startHandshake() throws IOException {
            tls.startHandshake();
        }

        @Override
        public SSLSession getSession() {
            return tls.getSession();
        }

        @Override
        public SSLSession getHandshakeSession() {
            return tls.getHandshakeSession();
        }

        @Override
        public SSLParameters getSSLParameters() {
            return tls.getSSLParameters();
        }

        @Override
        public void setSSLParameters(SSLParameters params) {
            tls.setSSLParameters(params);
        }

        @Override
        public String getApplicationProtocol() {
            return tls.getApplicationProtocol();
        }

        @Override
        public String getHandshakeApplicationProtocol() {
            return tls.getHandshakeApplicationProtocol();
        }

        @Override
        public String[] getSupportedCipherSuites() {
            return tls.getSupportedCipherSuites();
        }

        @Override
        public String[] getEnabledCipherSuites() {
            return tls.getEnabledCipherSuites();
        }

        @Override
        public void setEnabledCipherSuites(String[] suites) {
            tls.setEnabledCipherSuites(suites);
        }

        @Override
        public String[] getSupportedProtocols() {
            return tls.getSupportedProtocols();
        }

        @Override
        public String[] getEnabledProtocols() {
            return tls.getEnabledProtocols();
        }

        @Override
        public void setEnabledProtocols(String[] protocols) {
            tls.setEnabledProtocols(protocols);
        }

        @Override
        public void addHandshakeCompletedListener(HandshakeCompletedListener listener) {
            tls.addHandshakeCompletedListener(listener);
        }

        @Override
        public void removeHandshakeCompletedListener(HandshakeCompletedListener listener) {
            tls.removeHandshakeCompletedListener(listener);
        }

        @Override
        public void setUseClientMode(boolean mode) {
            tls.setUseClientMode(mode);
        }

        @Override
        public boolean getUseClientMode() {
            return tls.getUseClientMode();
        }

        @Override
        public void setNeedClientAuth(boolean need) {
            tls.setNeedClientAuth(need);
        }

        @Override
        public boolean getNeedClientAuth() {
            return tls.getNeedClientAuth();
        }

        @Override
        public void setWantClientAuth(boolean want) {
            tls.setWantClientAuth(want);
        }

        @Override
        public boolean getWantClientAuth() {
            return tls.getWantClientAuth();
        }

        @Override
        public void setEnableSessionCreation(boolean flag) {
            tls.setEnableSessionCreation(flag);
        }

        @Override
        public boolean getEnableSessionCreation() {
            return tls.getEnableSessionCreation();
        }

        @Override
        public void setSoTimeout(int millis) throws SocketException {
            tls.setSoTimeout(millis);
        }

        @Override
        public int getSoTimeout() throws SocketException {
            return tls.getSoTimeout();
        }

        @Override
        public InetAddress getInetAddress() {
            return tls.getInetAddress();
        }

        @Override
        public int getPort() {
            return tls.getPort();
        }

        @Override
        public SocketAddress getRemoteSocketAddress() {
            return tls.getRemoteSocketAddress();
        }

        @Override
        public boolean isConnected() {
            return tls.isConnected();
        }

        @Override
        public boolean isClosed() {
            return tls.isClosed();
        }

        @Override
        public boolean isInputShutdown() {
            return tls.isInputShutdown();
        }

        @Override
        public boolean isOutputShutdown() {
            return tls.isOutputShutdown();
        }

        @Override
        public void shutdownInput() throws IOException {
            tls.shutdownInput();
        }

        @Override
        public void shutdownOutput() throws IOException {
            tls.shutdownOutput();
        }

        @Override
        public void close() throws IOException {
            tls.close();
        }
    }
}
