package bench;

import jakarta.servlet.Servlet;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Hashtable;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;
import org.osgi.service.servlet.context.ServletContextHelper;

/** The context `demo` at /test with the servlet /hello/*, as servlets/demo registers them. */
public final class Activator implements BundleActivator {

	private static final String W = "osgi.http.whiteboard.";

	private static final class Hello extends HttpServlet {
		private static final long serialVersionUID = 1;
		private static final byte[] BODY = "Hello World".getBytes();

		@Override
		protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
			response.setContentType("text/plain;charset=utf-8");
			response.setContentLength(BODY.length);
			response.getOutputStream().write(BODY);
		}
	}

	@Override
	public void start(BundleContext context) {
		Hashtable<String, Object> demo = new Hashtable<>();
		Hashtable<String, Object> hello = new Hashtable<>();

		demo.put(W + "context.name", "demo");
		demo.put(W + "context.path", "/test");
		context.registerService(ServletContextHelper.class, new ServletContextHelper() { }, demo);
		hello.put(W + "servlet.pattern", "/hello/*");
		hello.put(W + "context.select", "(" + W + "context.name=demo)");
		context.registerService(Servlet.class, new Hello(), hello);
	}

	@Override
	public void stop(BundleContext context) {
		// The framework takes the registrations back.
	}
}
