"""deploy/ for real: the image is built, a cluster of containers runs under load, parts of it die.

`make test-deploy` runs it. It uses the container engine of this machine. If there is none, root on
Debian gets one: packages are installed, a daemon of its own is started in a temporary directory and
ended afterwards. That daemon adds rules to the machine's packet filter, so nothing else starts it;
afterwards the rules are as they were.
Where no registry can be reached, the base images are made of Debian's packages.
"""
