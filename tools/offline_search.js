// Pages that are opened from files may start no worker. The search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => {
        const told = new MessageEvent("message", { data });
        this.dispatchEvent(told);
        if (this.onmessage) this.onmessage(told);
      };
      this.ready = new Promise((done) => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = new URL(url, location.href).href;
        script.onload = () => done(inside);
        this.frame.contentDocument.body.append(script);
      });
    }

    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
